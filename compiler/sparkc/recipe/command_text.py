"""One command text on its way to a ``Command``: its place in the file, and its words as recipe words."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.reading.locate import locate
from sparkc.reading.node import Scalar
from sparkc.reading.source import Span
from sparkc.recipe.model import Param, Part, Word
from sparkc.recipe.placeholders import Atom, Syntax, join_atoms
from sparkc.recipe.shell_tokens import Token
from sparkc.record import dataclass
from sparkc.traced import from_file


@dataclass(frozen=True)
class CommandText:
    """The atoms of a command, or of the text inside its ``bash -c``, which lie in the same scalar."""

    scalar: Scalar
    key_path: str
    syntax: Syntax
    atoms: Sequence[Atom]

    def span(self, start: int, end: int) -> Span:
        """Return the place of the atoms ``start`` to ``end`` (exclusive)."""
        if start >= len(self.atoms):
            return self.scalar.span
        first, last = self.atoms[start], self.atoms[max(start, end - 1)]
        following = self.atoms[end].offset if end < len(self.atoms) else last.offset + 1
        return locate(self.scalar, first.offset, max(1, following - first.offset))

    def parts(self, token: Token) -> tuple[Part, ...]:
        """Return a word's value. In a native text no value splits, so every placeholder is data."""
        return self._as_data(join_atoms(token.value)) if self.syntax == "native" else join_atoms(token.value)

    def word(self, token: Token, shell: tuple[Part, ...] | None = None) -> Word:
        """Return a word token as an argv item whose origin is its own place in the text."""
        return Word(self.parts(token), from_file(self.span(token.start, token.end), self.key_path), shell)

    def assigned(self, token: Token) -> tuple[str, tuple[Part, ...]]:
        """Return name and value of a ``NAME=VALUE`` word; a shell splits no assigned value."""
        name = token.text.partition("=")[0]
        return name, self._as_data(join_atoms(token.value[len(name) + 1 :]))

    @staticmethod
    def _as_data(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(Param(part.name, part.span) if isinstance(part, Param) else part for part in parts)


def visible(word: Token) -> str:
    """Return a word's value with each placeholder as one NUL, for comparisons with fixed words."""
    return "".join(atom.char or "\0" for atom in word.value)
