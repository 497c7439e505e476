"""Provenance: a value together with where it came from and what it replaced.

Every value of a plan is a ``Traced``, so that a bundle's README, its notes and any later command can name
the line, rule, flag or default behind it. Stages pass traced values on; only this module builds origins.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from sparkc.reading.source import Span
from sparkc.record import dataclass

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - T reads better than T_co everywhere
U = TypeVar("U")


@dataclass(frozen=True)
class Origin:
    """Where a value came from.

    ``file``: a key of an input file, ``text`` is "<file>: <key path>" and ``span`` its place.
    ``rule``: a decision of sparkc, ``text`` names the rule and ``reason`` says why it exists.
    ``flag``: the command line, ``text`` is the flag as typed.
    ``default``: a built-in value, ``text`` names it and ``reason`` says why it is what it is.
    """

    kind: Literal["file", "rule", "flag", "default"]
    text: str
    reason: str = ""
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.reason})" if self.reason else self.text


def from_file(span: Span, key: str) -> Origin:
    """The value stands in an input file under the key path ``key`` (e.g. ``env.NCCL_DEBUG``)."""
    return Origin("file", f"{span.source.name}: {key}", span=span)


def from_rule(name: str, reason: str) -> Origin:
    """The value follows from a rule of sparkc."""
    return Origin("rule", name, reason)


def from_flag(flag: str) -> Origin:
    """The value was given on the command line."""
    return Origin("flag", flag)


def from_default(name: str, reason: str) -> Origin:
    """The value is a built-in default."""
    return Origin("default", name, reason)


@dataclass(frozen=True)
class Traced(Generic[T]):
    """A value, its origin, and the value that it replaced, if any."""

    value: T
    origin: Origin
    overrode: Traced[T] | None = None

    def over(self, other: Traced[Any] | None) -> Traced[T]:
        """Return this value with the record that it replaced ``other``."""
        return self if other is None else Traced(self.value, self.origin, other)

    def with_value(self, value: U) -> Traced[U]:
        """Return ``value`` with this one's origin, for a conversion that decides nothing."""
        return Traced(value, self.origin)
