"""Warnings about argv items that are legal and almost surely not meant."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.patterns import pattern
from sparkc.recipe.model import Text, Word

# Pasted from web pages (docker/docs#8720): dashes that start no flag, quotes that quote nothing, blanks that
# separate nothing. A dash within a word is somebody's text.
_TYPOGRAPHIC = pattern(
    "^-?(?P<dash>[\u2010-\u2015\u2212])|(?P<other>[\u2018-\u201f\u00a0\u2007\u202f\u200b\u2060\ufeff])"
)
_FLAG_AND_VALUE = pattern(r"--?[A-Za-z][A-Za-z0-9_.-]*[ \t]+\S")


def is_flag_with_value(text: str) -> bool:
    """Return whether one argv item looks like ``--flag value``, which a server takes for one unknown flag."""
    return _FLAG_AND_VALUE.match(text) is not None


def check_items(words: Sequence[Word], report: Report) -> None:
    """Warn about items of a command written as a list: typographic characters, and flag and value in one item."""
    check_characters(words, report)
    for word in words:
        text = visible(word)
        if is_flag_with_value(text):
            flag, value = text.split(None, 1)
            report.warning(
                "SPK121",
                f"{flag} and its value stand in one item, which the program gets as one argument",
                word.origin.span,
                hint=f"write two items: {flag} and {value}" if "\0" not in value else f"make {flag} an item of its own",
            )


def check_characters(words: Sequence[Word], report: Report) -> None:
    """Warn about typographic dashes, quotes and blanks; the value stays as it is."""
    for word in words:
        text = visible(word)
        match = None if text.isascii() else _TYPOGRAPHIC.search(text)
        if match is None:
            continue
        import unicodedata  # a table of character names that only this message needs

        char = match["dash"] or match["other"]
        kind = "-" if match["dash"] else "a plain quote" if "\u2018" <= char <= "\u201f" else "a plain blank or nothing"
        report.warning(
            "SPK120",
            f"this argument has U+{ord(char):04X} {unicodedata.name(char)}, as pasted from a web page",
            word.origin.span,
            hint=f"type {kind} instead, if that is meant; the value is passed on unchanged",
        )


def visible(word: Word) -> str:
    """Return a word with each placeholder as one NUL, for comparisons with fixed words."""
    return "".join(part.text if isinstance(part, Text) else "\0" for part in word.parts)
