"""The simple commands of a text, and what stands between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkc.recipe.shell_tokens import Token
from sparkc.record import dataclass

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True)
class SimpleCommand:
    """Words up to an operator or a line end; targets of redirections are not among them.

    ``before`` are the operators, line ends and comments between this command and the one before it.
    ``unbroken`` counts the words before the first redirection: arguments can be added only there.
    """

    words: tuple[Token, ...]
    before: tuple[Token, ...]
    unbroken: int


def simple_commands(tokens: Sequence[Token]) -> list[SimpleCommand]:
    """Group tokens into simple commands, in reading order."""
    commands: list[SimpleCommand] = []
    words: list[Token] = []
    before: list[Token] = []
    between: list[Token] = []
    unbroken: int | None = None
    is_target = False
    for token in tokens:
        if token.kind == "word":
            if is_target:
                is_target = False
                continue
            if not words:
                before, between = between, []
            words.append(token)
        elif token.kind == "operator" and ("<" in token.text or ">" in token.text):
            is_target = True
            unbroken = len(words) if unbroken is None and words else unbroken
        else:
            between.append(token)
            if token.kind != "comment" and words:
                commands.append(
                    SimpleCommand(tuple(words), tuple(before), len(words) if unbroken is None else unbroken)
                )
                words, unbroken = [], None
    if words:
        commands.append(SimpleCommand(tuple(words), tuple(before), len(words) if unbroken is None else unbroken))
    return commands


def split_assignments(words: Sequence[Token]) -> tuple[Sequence[Token], Sequence[Token]]:
    """Return the leading ``NAME=VALUE`` words and the rest; a name with quotes in it is none (``'A'=1``)."""
    count = 0
    while count < len(words) and _ASSIGNMENT.match(words[count].text):
        count += 1
    return words[:count], words[count:]
