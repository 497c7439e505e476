"""Source text and the places in it that diagnostics and origins point at."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from sparkc.record import dataclass, field

# Begins the name of a recipe of our own catalogue in records, in diagnostics and on the command line.
CATALOGUE = "sparkc:"


@dataclass(frozen=True)
class Source:
    """One input file after decoding: no byte order mark, LF line ends.

    ``name`` is the file's name as the user should see it (relative to the project where possible);
    it is the only path that diagnostics print.
    """

    name: str
    text: str = field(repr=False, compare=False, default="")

    def line(self, number: int) -> str:
        """Return line ``number`` (1-based) without its line end, or "" past the end."""
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    @property
    def last_line(self) -> int:
        """The number of the last line, which is empty when the text ends with a line end."""
        return len(self._lines)

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column (1-based) of the character at ``offset`` of the text."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the offset of the character at ``line`` and ``column``, the inverse of :meth:`position`."""
        return self._starts[line - 1] + column - 1

    def span(self, start: int, end: int) -> Span:
        """Return the span of ``text[start:end]``; an ``end`` past the text is cut."""
        return Span(self, *self.position(start), *self.position(min(end, len(self.text))))

    # Cached, as a large file with many nodes or faults asks for thousands of places.
    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._lines[:-1])]


@dataclass(frozen=True)
class Span:
    """A range of characters in a source: lines and columns count from 1, the end is exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        """Return ``file:line:column``, as every message prints it."""
        return f"{self.source.name}:{self.line}:{self.column}"
