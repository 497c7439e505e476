"""Source text and the places in it that diagnostics and origins point at."""

from __future__ import annotations

from dataclasses import dataclass, field


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
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""


@dataclass(frozen=True)
class Span:
    """A range of characters in a source: lines and columns count from 1, the end is exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
