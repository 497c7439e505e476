"""The quoting filters of the bundle's templates, one per syntax that a value can land in.

Each filter returns a :class:`Quoted`; ``finalize`` (set on every template environment) rejects anything else,
so a value that nobody quoted is our bug and never a line in somebody's compose file. Rules that hold for all:
values are data and arrive byte for byte, and NUL and lone surrogates cannot be written at all (both are
refused with a located error long before; here they raise ``ValueError``).
"""

from __future__ import annotations

import re
from functools import lru_cache

from sparkc.patterns import pattern

# Characters that editors and terminals hide or obey: C0 and C1 controls, soft hyphen, zero-width and
# bidirectional marks, line and paragraph separators, byte order mark, interlinear marks and noncharacters.
# A fixed list rather than str.isprintable(): the output must not depend on Python's Unicode tables. Tables for
# str.translate rather than regular expressions: those took 1 ms to compile.
_INVISIBLE = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0x10000),
)
_YAML_NAMED = {'"': '\\"', "\\": "\\\\", "$": "$$", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NOTHING = dict.fromkeys(_INVISIBLE, "")
_JSON = {code: f"\\u{code:04x}" for code in _INVISIBLE}
_SHOWN = _JSON | {ord(char): escape for char, escape in _YAML_NAMED.items() if char in "\n\t\r"}
_YAML = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _INVISIBLE}
_YAML |= {ord(char): escape for char, escape in _YAML_NAMED.items()}

# NUL and lone surrogates: no file, argument or path can hold them.
IMPOSSIBLE = pattern("[\x00\ud800-\udfff]")
_IDENTIFIER = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_IN_BACKTICKS = pattern(r"(?<!`)`([^`]+)`(?!`)")
_BARE_WORD = pattern(r"[A-Za-z0-9_@%+=:,./-]+")
# What Compose takes as a duration (always with a unit: "900" is refused) and as a byte size ("1e9" is dropped
# silently, so exponents never pass).
_DURATION = pattern(r"[0-9]+(?:ms|s|m|h)")
_SIZE = pattern(r"[0-9]+(?:\.[0-9]+)? ?(?:[kmgtp]i?)?b?", re.IGNORECASE)

# Longer values are cut in README's tables; rank.env and compose.yaml always hold them whole.
_README_LIMIT = 120


class Quoted(str):
    """Text that is ready to stand in the file it was quoted for."""

    __slots__ = ()


def finalize(value: object) -> Quoted:
    """Let quoted text through and raise ``TypeError`` for anything else."""
    if isinstance(value, Quoted):
        return value
    raise TypeError(f"a template wrote {value!r} without a quoting filter")


def _possible(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected text, got {text!r}")
    found = IMPOSSIBLE.search(text)
    if found:
        raise ValueError(f"U+{ord(found[0]):04X} cannot be written into a bundle: {text!r}")
    return text


def yq(text: str) -> Quoted:
    """Return ``text`` as a double-quoted YAML string in which Compose interpolates nothing.

    Every ``$`` is doubled (quotes do not protect it: https://github.com/docker/compose/issues/5965). Escapes are
    the ones that Compose's YAML reader takes; it refuses JSON's surrogate pairs, so an emoji stands as itself.
    """
    return Quoted('"' + _possible(text).translate(_YAML) + '"')


def sq(text: str) -> Quoted:
    """Return ``text`` as one POSIX shell word in single quotes."""
    return Quoted("'" + _possible(text).replace("'", "'\\''") + "'")


def typed(value: bool | int | str) -> Quoted:
    """Return a boolean or integer as a bare YAML scalar, a duration or byte size as a quoted one."""
    if isinstance(value, bool):
        return Quoted("true" if value else "false")
    if isinstance(value, int):
        return Quoted(str(value))
    if isinstance(value, str) and (_DURATION.fullmatch(value) or _SIZE.fullmatch(value)):
        return Quoted(f'"{value}"')
    raise ValueError(f"{value!r} is no boolean, integer, duration or byte size")


def identifier(name: str) -> Quoted:
    """Return a shell variable's name."""
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"{name!r} is no shell variable name")
    return Quoted(name)


def envline(variable: tuple[str, str]) -> Quoted:
    """Return one ``KEY=VALUE`` line of a raw env file; see :func:`fits_env_file` for what it can hold."""
    key, value = variable
    if not fits_env_file(value) or not key or key.startswith("#") or re.search(r"[=\s]", key):
        raise ValueError(f"{key!r} cannot stand in an env file")
    return Quoted(f"{_possible(key)}={_possible(value)}")


def fits_env_file(value: str) -> bool:
    """Return whether a raw env file holds ``value`` byte for byte.

    Compose reads such files line by line, drops a CR before the line's end, and stops at lines of 64 KiB.
    """
    short = len(value) < 15_000 or len(value.encode()) < 60_000  # no character has more than four bytes
    return short and "\n" not in value and not value.endswith("\r")


def comment(text: str) -> Quoted:
    """Return ``text`` for a comment line: nothing that ends the line or that a reviewer cannot see."""
    return Quoted(_possible(text).translate(_NOTHING))


def word(text: str) -> Quoted:
    """Return ``text`` as one shell word for a command that people paste: bare where possible, always one line."""
    if _BARE_WORD.fullmatch(text):
        return Quoted(text)
    if _possible(text).translate(_NOTHING) == text:
        return sq(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    octal = {code: "".join(f"\\{byte:03o}" for byte in chr(code).encode()) for code in _INVISIBLE}
    return Quoted("$'" + escaped.translate(octal) + "'")


def command(line: str) -> Quoted:
    """Return a shell command line whose words :func:`word` has quoted."""
    if _possible(line).translate(_NOTHING) != line:
        raise ValueError(f"{line!r} holds a word without quoting")
    return Quoted(line)


def md(text: str) -> Quoted:
    """Return ``text`` as Markdown prose on one line, also inside a table: it looks as it is typed."""
    return _paragraph(_escaped(" ".join(_possible(text).split())))


def prose(text: str) -> Quoted:
    """Return ``text`` as :func:`md` does, with what stands between single backticks as code."""
    parts = _IN_BACKTICKS.split(" ".join(_possible(text).split()))
    return _paragraph("".join(code(part) if index % 2 else _escaped(part) for index, part in enumerate(parts)))


def _escaped(line: str) -> str:
    shown = re.sub(r"[\\`*<>|~&$]|\](?=[(\[:])", r"\\\g<0>", _visible(line))
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", shown)


def _paragraph(shown: str) -> Quoted:
    """Escape what would be a heading, a list item or a rule where a paragraph starts."""
    return Quoted(re.sub(r"^(?:(?:#+|[+-])(?= |$)|[0-9]+(?=[.)](?: |$))|[=-]+$)", _entities, shown))


def _entities(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(character)};" for character in match[0])


def code(text: str) -> Quoted:
    """Return ``text`` as a Markdown code span for a table cell; a long one is cut and its length told."""
    text = _possible(text)
    if not text:
        return Quoted("*(empty)*")
    shown = _visible(text[:_README_LIMIT]).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    length = f" … ({len(text)} characters)" if len(text) > _README_LIMIT else ""
    return Quoted(f"{fence}{pad}{shown}{pad}{fence}{length}")


def escape_invisible(text: str) -> str:
    """Return JSON ``text`` with the characters that JSON allows as they are, but that cannot be seen, escaped."""
    return text.translate(_JSON | {0x0A: "\n"})


def _visible(text: str) -> str:
    return text.translate(_SHOWN)


# Ranks and rows repeat their values: with a cache a bundle renders in half the time. ``typed``: 1 is not True.
FILTERS = {
    function.__name__: lru_cache(4096, typed=True)(function)
    for function in (yq, sq, typed, identifier, envline, comment, word, command, md, prose, code)
}
