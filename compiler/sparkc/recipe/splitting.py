"""POSIX word splitting of a value that no shell reads: quotes group, a backslash escapes, blanks separate."""

from __future__ import annotations

import re

from sparkc.patterns import pattern

_BLANKS = " \t\n"
_QUOTED = {"'": pattern(r"'[^']*'"), '"': pattern(r'"(?:[^"\\]|\\.)*"', re.DOTALL)}
_UNESCAPE = pattern(r'\\(?:([\\"$`])|\n)')
_PLAIN = pattern(r"[^ \t\n'\"\\]+")


def split_pieces(text: str) -> list[str | None] | None:
    """Return the pieces of words in ``text``, with None for each blank between words.

    Adjacent pieces belong to one word (``a'b c'`` is ``a`` and ``b c``), so that a caller can glue the first
    and the last word to what stands beside the text. The result is None when a quote is not closed.
    """
    pieces: list[str | None] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char in _BLANKS:
            pieces.append(None)
            position += 1
        elif char in _QUOTED:
            match = _QUOTED[char].match(text, position)
            if match is None:
                return None
            inner = match[0][1:-1]
            pieces.append(inner if char == "'" else _UNESCAPE.sub(r"\1", inner))
            position = match.end()
        elif char == "\\":
            escaped = text[position + 1 : position + 2]
            pieces.append("" if escaped == "\n" else escaped or char)
            position += 2
        else:
            match = _PLAIN.match(text, position)
            assert match is not None  # noqa: S101 - the character is none of those above
            pieces.append(match[0])
            position = match.end()
    return pieces


def split_words(text: str) -> list[str] | None:
    """Return the words of ``text``, or None when a quote is not closed."""
    pieces = split_pieces(text)
    if pieces is None:
        return None
    words: list[str] = []
    glued = False
    for piece in pieces:
        if piece is not None and glued:
            words[-1] += piece
        elif piece is not None:
            words.append(piece)
        glued = piece is not None
    return words
