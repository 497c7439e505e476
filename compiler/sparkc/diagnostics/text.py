"""Diagnostics for people: place, code and message, the source line with carets, related places, and help."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from sparkc.diagnostics.escape import printable, printable_character, printable_lines
from sparkc.diagnostics.model import Diagnostic, Severity
from sparkc.diagnostics.summary import summary
from sparkc.diagnostics.tokens import masked
from sparkc.reading.source import Span

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_TAB = "→   "
# Longer lines (a JSON argument of a thousand characters) are shown around the carets only.
_WIDEST_LINE = 120
_LEAD = 30


def render_text(diagnostics: Iterable[Diagnostic], *, color: bool) -> str:
    """Return all diagnostics and a summary line, or "" if there are none."""
    found = list(diagnostics)
    if not found:
        return ""
    blocks = ["\n".join(_block(diagnostic, color=color)) for diagnostic in found]
    return "\n\n".join([*blocks, summary(found)]) + "\n"


def _block(diagnostic: Diagnostic, *, color: bool) -> list[str]:
    severity = diagnostic.severity
    label = _paint(f"{severity.value}[{diagnostic.code}]", _COLORS[severity], color=color)
    first, *rest = printable_lines(diagnostic.message)
    lines = [f"{_place(diagnostic.span)}{label}: {first}", *(f"  {line}" for line in rest)]
    lines += _excerpt(diagnostic.span, "^", _COLORS[severity], color=color)
    for related in diagnostic.related:
        lines.append(f"{_place(related.span)}note: {printable(related.message)}")
        lines += _excerpt(related.span, "-", "cyan", color=color)
    if diagnostic.hint:
        first, *rest = printable_lines(diagnostic.hint)
        lines += [f"  {_paint('help:', 'green', color=color)} {first}", *(f"        {line}" for line in rest)]
    return lines


def _place(span: Span | None) -> str:
    return f"{printable(span.source.name)}:{span.line}:{span.column}: " if span else ""


def _excerpt(span: Span | None, mark: str, paint: str, *, color: bool) -> list[str]:
    """Return the source line and the line of carets; nothing where there is no text, as in an empty file."""
    line = masked(span.source.line(span.line)) if span else ""
    if span is None or not line.strip():
        return []
    cells = [_TAB if char == "\t" else printable_character(char) for char in line]
    start = min(span.column - 1, len(cells))
    end = min(span.end_column - 1, len(cells)) if span.end_line == span.line else len(cells)
    shown, before, width = _window(cells, start, max(end, start))
    number = str(span.line)
    carets = _paint(mark * max(width, 1), paint, color=color)
    return [f"  {number} | {shown}", f"  {' ' * len(number)} | {' ' * before}{carets}"]


def _window(cells: list[str], start: int, end: int) -> tuple[str, int, int]:
    """Return the line or the part of it around the carets, and the widths before and below the carets."""
    first = 0
    if _width(cells) > _WIDEST_LINE:
        first = max(0, min(start - _LEAD, len(cells) - _WIDEST_LINE))
    last = first
    room = _WIDEST_LINE
    while last < len(cells) and room >= 0:
        room -= _width(cells[last : last + 1])
        last += 1
    left = "..." if first else ""
    right = "..." if last < len(cells) else ""
    shown = left + "".join(cells[first:last]) + right
    return shown.rstrip(), len(left) + _width(cells[first:start]), _width(cells[start : min(end, last)])


def _width(cells: Iterable[str]) -> int:
    """Return the columns that a terminal uses: two for wide East Asian characters, none for combining marks."""
    return sum(_character_width(char) for cell in cells for char in cell)


def _character_width(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _paint(text: str, paint: str, *, color: bool) -> str:
    if not color:
        return text
    from click import style  # the compiler itself needs no click, and most output is not coloured

    return style(text, fg=paint, bold=True)
