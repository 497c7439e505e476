"""From a character of a scalar's text to its place in the file, for parameters and shell syntax inside commands."""

from __future__ import annotations

from sparkc.patterns import pattern
from sparkc.reading.node import Scalar
from sparkc.reading.source import Span

# The header of a YAML block literal: indentation indicator and chomping in either order, then perhaps a comment.
_LITERAL = pattern(r"\|(?:[-+]?([1-9])?|([1-9])[-+])[ \t]*(?:#.*)?$")
_OPENING = ("'''", '"""', "'", '"')


def locate(scalar: Scalar, offset: int, length: int = 1) -> Span:
    """Return the place of ``scalar.text[offset:offset + length]``.

    Exact where the text stands in the file as it is: YAML block literals, and every other scalar up to its
    first escape or folded line. Otherwise the scalar's own span. A range that crosses a line end is cut there.
    """
    text = scalar.text
    newline = text.find("\n", offset)
    end = min(offset + length, len(text) if newline < 0 else max(newline, offset + 1))
    line = scalar.span.source.line(scalar.span.line)
    header = _LITERAL.match(line[scalar.span.column - 1 :])
    found = _in_literal(scalar, offset, end) if header else _in_flow(scalar, offset, end)
    return found or scalar.span


def _in_literal(scalar: Scalar, offset: int, end: int) -> Span | None:
    """The text's lines are the file's lines below the header, less their common indentation."""
    source = scalar.span.source
    row = scalar.text.count("\n", 0, offset)
    start = scalar.text.rfind("\n", 0, offset) + 1
    wanted = scalar.text.split("\n")[row]
    line_number = scalar.span.line + 1 + row
    line = source.line(line_number)
    indent = len(line) - len(wanted)
    if indent < 0 or not line.endswith(wanted):
        return None
    first = indent + offset - start + 1
    return Span(source, line_number, first, line_number, first + end - offset)


def _in_flow(scalar: Scalar, offset: int, end: int) -> Span | None:
    """The text starts after its quotes, if any; TOML drops a line end right after triple quotes."""
    source = scalar.span.source
    start = source.offset(scalar.span.line, scalar.span.column)
    opening = next((mark for mark in _OPENING if source.text.startswith(mark, start)), "")
    start += len(opening) if scalar.style == "quoted" else 0
    if len(opening) == 3 and source.text.startswith("\n", start):
        start += 1
    if not source.text.startswith(scalar.text[:end], start):
        return None
    line, column = source.position(start + offset)
    return Span(source, line, column, line, column + end - offset)
