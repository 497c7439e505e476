"""Characters that look like a space and are none: U+00A0 comes with text pasted from web pages and office programs."""

from __future__ import annotations

import re

from sparkc.diagnostics.model import Report
from sparkc.reading.node import Scalar
from sparkc.reading.source import Span

PASTED = "\u00a0\u1680\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff"
"""The characters, as the inside of a regular expression's class."""


def stray_space(scalar: Scalar, report: Report) -> None:
    """Report an unquoted text that only looks like ``key: value`` because its space is another character."""
    text = scalar.text
    if text.isascii():
        return
    match = re.match(rf"[^\s:#]+:[{PASTED}]", text)
    leading = re.match(f"[{PASTED}]", text)
    if match is None and leading is None:
        return
    offset = match.end() - 1 if match else 0
    span = scalar.span
    place = Span(span.source, span.line, span.column + offset, span.line, span.column + offset + 1)
    report_pasted(text[offset], place, "after a key's colon" if match else "in front of a word", report)


def report_pasted(char: str, span: Span, where: str, report: Report) -> None:
    """Report the character ``char``, one of :data:`PASTED`, at its place; ``where`` ends the sentence."""
    report.error(
        "SPK015",
        f"U+{ord(char):04X} {where}: it looks like a space, but YAML takes it for a letter",
        span,
        hint="type an ordinary space in its place; quote the text if the character is meant",
    )
