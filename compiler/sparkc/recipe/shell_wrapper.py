"""``bash -c "…"``: the text inside is the real command."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.recipe.command_text import visible
from sparkc.recipe.placeholders import Atom
from sparkc.recipe.shell_tokens import Token
from sparkc.record import dataclass

# The two that a recipe can name without a path; another path is kept as it is written.
_SHELLS = {"bash": "/bin/bash", "sh": "/bin/sh"}
# l, i: login and interactive, which a container's one process has no use for. The others change how a script runs.
_IGNORED = frozenset("lic")
_KEPT = frozenset("euxo")


@dataclass(frozen=True)
class Wrapped:
    """The text inside; ``interpreter`` runs it, after ``prelude`` ("set -e" for ``bash -ec``) if it is a script."""

    atoms: tuple[Atom, ...]
    interpreter: str
    prelude: str


def unwrap(words: Sequence[Token]) -> Wrapped | None:
    """Return the text that the words give to a shell, or None when they do anything else."""
    texts = [visible(word) for word in words]
    program = texts[0].rsplit("/", 1)[-1]
    if program not in _SHELLS:
        return None
    index, has_command, kept = 1, False, []
    while index < len(texts) and texts[index].startswith("-") and len(texts[index]) > 1:
        letters = set(texts[index][1:])
        if not letters <= _IGNORED | _KEPT:
            return None
        has_command = has_command or "c" in letters
        option = "".join(letter for letter in texts[index][1:] if letter in _KEPT)
        if option:
            kept.append(f"-{option}")
        index += 1
        if "o" in letters:
            kept += texts[index : index + 1]
            index += 1
    if not has_command or index != len(texts) - 1:
        return None
    interpreter = texts[0] if "/" in texts[0] else _SHELLS[program]
    return Wrapped(words[index].value, interpreter, f"set {' '.join(kept)}\n" if kept else "")
