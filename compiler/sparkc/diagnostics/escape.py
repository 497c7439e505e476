"""Text from files made safe to print: what a terminal would obey or hide is written as an escape."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return ``text`` with an escape, such as backslash x1b, for every character without a visible form of its own."""
    return text if text.isprintable() else "".join(printable_character(char) for char in text)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text, each printable, and none that GitHub's runner takes for a command (``::error::``)."""
    return [_no_command(printable(line)) for line in text.split("\n")]


def _no_command(line: str) -> str:
    return line.replace("::", "\\::", 1) if line.lstrip(" +-").startswith("::") else line


def printable_character(char: str) -> str:
    """Return one character, escaped if it is a control, a format character, or a space other than U+0020."""
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
