"""Flags that an engine's final command line gives twice: legal, and nearly always a merge accident."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkc.diagnostics import Related, Report
from sparkc.engines.arguments import Words, flag_name
from sparkc.traced import Traced

_FLAG = re.compile(r"--?[A-Za-z]")
# Options that collect one value per use (argparse's "append"); so does a JSON path that ends in "+".
_COLLECTING = frozenset({"--middleware"})


def check_doubled(words: Words, report: Report) -> None:
    """Warn once for every flag that occurs more than once; the words stay as written and the last one counts."""
    places: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        name = flag_name(word.value) if _FLAG.match(word.value) else None
        if name is not None and name not in _COLLECTING and not name.endswith("+"):
            places.setdefault(name, []).append(index)
    for name, indices in places.items():
        if len(indices) > 1:
            _report(name, [(words[index], _value(words, index)) for index in indices], report)


def _report(name: str, found: list[tuple[Traced[str], str | None]], report: Report) -> None:
    *others, (last, kept) = found
    differ = len({value for _, value in found}) > 1
    detail = f"with different values, of which the last one counts: {_shown(kept)}" if differ else "alike"
    report.warning(
        "SPK127",
        f"{name} is given {len(found)} times, {detail}{_outside(word for word, _ in found)}",
        last.origin.span,
        hint="keep the one that is meant" if differ else "remove the repetition",
        related=[
            Related(f"also given here: {_shown(value)}" if differ else "also given here", word.origin.span)
            for word, value in others
            if word.origin.span is not None
        ],
    )


def _outside(words: Iterable[Traced[str]]) -> str:
    """Name the places that have no line: the command line, or a rule."""
    names = dict.fromkeys(word.origin.text for word in words if word.origin.span is None)
    return f" ({'; '.join(names)})" if names else ""


def _value(words: Words, index: int) -> str | None:
    _, equals, inline = words[index].value.partition("=")
    if equals:
        return inline
    following = words[index + 1].value if index + 1 < len(words) else None
    return None if following is None or _FLAG.match(following) else following


def _shown(value: str | None) -> str:
    if value is None:
        return "no value"
    return value if len(value) <= 60 else f"{value[:57]}..."
