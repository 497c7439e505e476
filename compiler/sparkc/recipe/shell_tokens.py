"""What the shell lexer makes of a text: tokens, and how to write parts of the text down again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sparkc.recipe.model import Param, Part
from sparkc.recipe.placeholders import Atom, Context, join_atoms
from sparkc.record import dataclass

Kind = Literal["word", "operator", "newline", "comment"]


class Unreadable(Exception):  # noqa: N818 - the user's fault, on its way from deep inside the lexer to the report
    """Shell text that has no tokens: ``code``, ``message`` and ``hint`` of the diagnostic, and where (atom index)."""

    def __init__(self, code: str, index: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.index = index
        self.message = message
        self.hint = hint


def unclosed(index: int, opener: str) -> Unreadable:
    """Return the fault of a quote or bracket at ``index`` that is never closed."""
    closer = {"(": ")", "{": "}"}.get(opener, opener)
    return Unreadable(
        "SPK111", index, f"this {opener} is never closed", f"close it with {closer}, or escape it: \\{opener}"
    )


@dataclass(frozen=True)
class Token:
    """A piece of shell text: the atoms ``start`` to ``end`` (exclusive).

    For a word, ``value`` holds its atoms after quote removal (a placeholder's context is "words" outside
    quotes, else "data"), ``bare`` counts the leading characters of ``value`` that stand outside quotes, and
    ``expansions`` are the indices at which a shell would expand something.
    """

    kind: Kind
    start: int
    end: int
    text: str = ""
    value: tuple[Atom, ...] = ()
    bare: int = 0
    expansions: tuple[int, ...] = ()


class Lexed:
    """The tokens of a text, and what is needed to write parts of it down again as shell source.

    All indices count atoms. ``dropped`` are lines that the text is read without, ``blank_escapes`` backslashes
    before blanks at a line end, ``dollar_placeholders`` each ``$`` right before a placeholder.
    """

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self.atoms = atoms
        self.tokens: list[Token] = []
        self.contexts: dict[int, Context] = {}
        self.comments: set[int] = set()
        self.dropped: set[int] = set()
        self.blank_escapes: list[int] = []
        self.dollar_placeholders: list[int] = []

    def source(self, start: int, end: int) -> tuple[Part, ...]:
        """Return the atoms ``start`` to ``end`` as parts of shell text, each placeholder with its context."""
        kept: list[Atom] = []
        for index in range(start, end):
            atom = self.atoms[index]
            if index in self.dropped:
                continue
            if atom.param is None:
                kept.append(atom)
            elif index in self.comments:
                # Nobody reads a comment's value, and a value with a line end would leave the comment.
                kept.extend(Atom(char, atom.offset) for char in f"{{{atom.param.name}}}")
            else:
                kept.append(with_context(atom, self.contexts.get(index, "words")))
        return join_atoms(kept)


def with_context(atom: Atom, context: Context) -> Atom:
    """Return a placeholder's atom with another context."""
    assert atom.param is not None  # noqa: S101 - callers have looked
    return Atom("", atom.offset, Param(atom.param.name, atom.param.span, context))
