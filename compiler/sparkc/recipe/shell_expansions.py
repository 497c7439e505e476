"""Where a shell expansion ends. Nothing is expanded: the end is all that a compiler needs."""

from __future__ import annotations

import re

from sparkc.recipe.shell_tokens import unclosed

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL_PARAMETERS = frozenset("@*#?$!-0123456789")


def expansion_end(text: str, start: int, end: int, *, quoted: bool) -> int | None:
    """Return the end of the expansion whose ``$`` stands at ``start``, or None for a ``$`` that is a character.

    Covers parameters, ``${…}``, ``$((…))`` and, outside quotes, bash's ``$'…'`` and ``$"…"``.
    ``end`` is where the text ends.

    Raises:
        Unreadable: its bracket or quote is never closed.
    """
    following = text[start + 1] if start + 1 < end else ""
    if following == "{":
        return _bracket_end(text, start + 1, end, "{", "}")
    if following == "(":
        return _bracket_end(text, start + 1, end, "(", ")")
    if following and following in _SPECIAL_PARAMETERS:
        return start + 2
    if following and following in "'\"" and not quoted:
        return balanced_end(text, start + 1, end, following)
    match = _NAME.match(text, start + 1, end)
    return match.end() if match else None


def balanced_end(text: str, start: int, end: int, mark: str) -> int:
    """Return the end of the text between two ``mark`` characters, in which a backslash escapes.

    Raises:
        Unreadable: there is no second one.
    """
    position = start + 1
    while position < end and text[position] != mark:
        position += 2 if text[position] == "\\" else 1
    if position >= end:
        raise unclosed(start, mark)
    return position + 1


def _bracket_end(text: str, start: int, end: int, opener: str, closer: str) -> int:
    depth, position, mark = 0, start, ""
    while position < end:
        char = text[position]
        if char == "\\" and mark != "'":
            position += 1
        elif mark:
            mark = "" if char == mark else mark
        elif char in "'\"":
            mark = char
        elif char == opener:
            depth += 1
        elif char == closer:
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    raise unclosed(start, opener)
