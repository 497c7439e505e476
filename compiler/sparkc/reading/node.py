"""The document tree that both readers build: three node kinds, each with its span.

Scalars keep the characters that the author typed. Nothing is converted here: `NO`, `0123` and `24.10`
stay text until a schema or a field reader asks for a type (YAML 1.2 core schema, see ``Scalar.value``).
"""

from __future__ import annotations

from typing import Literal

from sparkc.patterns import pattern
from sparkc.reading.source import Source, Span
from sparkc.record import dataclass

# "plain": an unquoted YAML scalar, whose type is decided by the reader of the field.
# "quoted": a string beyond doubt (YAML quotes or block text, any TOML string).
# "typed": a TOML integer, float, boolean or date; never a string.
Style = Literal["plain", "quoted", "typed"]

_INTEGER = pattern(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_BASES = {"o": 8, "x": 16}
_FLOAT = pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN"}
_NULL = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}


@dataclass(frozen=True)
class Scalar:
    """A leaf. ``text`` is the source text (after YAML or TOML unquoting and unescaping)."""

    text: str
    style: Style
    span: Span

    @property
    def is_null(self) -> bool:
        """True for an absent or null YAML value; a quoted empty string is not null."""
        return self.style == "plain" and self.text in _NULL

    @property
    def value(self) -> str | int | float | bool | None:
        """The scalar's value under the YAML 1.2 core schema (TOML: its own type; dates stay text)."""
        if self.style == "quoted":
            return self.text
        if self.style == "typed":
            return self._typed_value()
        return None if self.text in _NULL else _plain_value(self.text)

    def _typed_value(self) -> str | int | float | bool:
        """TOML's numbers are those of YAML, with digit groups, 0b and an infinity without the dot besides."""
        text = self.text.replace("_", "")
        if text.startswith("0b"):
            return int(text, 2)
        value = _plain_value(text.replace("inf", ".inf").replace("nan", ".nan"))
        return self.text if isinstance(value, str) else value


@dataclass(frozen=True)
class Entry:
    """One ``key: value`` of a mapping."""

    key: Scalar
    value: Node


@dataclass(frozen=True)
class Mapping:
    """Keys in source order; the readers have already refused duplicates."""

    entries: tuple[Entry, ...]
    span: Span

    def get(self, key: str) -> Node | None:
        """Return the value of ``key``, or None when the key is absent."""
        for entry in self.entries:
            if entry.key.text == key:
                return entry.value
        return None


@dataclass(frozen=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    span: Span


Node = Scalar | Mapping | Sequence


@dataclass(frozen=True)
class Document:
    """A whole file that was read without an error; ``root`` is always a mapping."""

    source: Source
    root: Mapping
    format: Literal["yaml", "toml"]


def _plain_value(text: str) -> str | int | float | bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text in _SPECIAL_FLOAT:
        return float(text.replace(".", ""))
    if _INTEGER.fullmatch(text):
        return _integer(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _integer(text: str) -> int | str:
    if text.startswith("0") and text[1:2] in _BASES:
        return int(text, _BASES[text[1]])
    # int() refuses texts of more than 4300 digits (CVE-2020-10735); such a text is not a number to us either.
    return int(text) if len(text) < 4300 else text
