"""What sparkc says about the user's input: collected, located and coded, never raised."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from sparkc.reading.source import Span
from sparkc.record import dataclass


class Severity(Enum):
    """Errors stop a compile, warnings are for the reviewer, notes tell what was decided."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Related:
    """A second place that belongs to a diagnostic ("first defined here")."""

    message: str
    span: Span


@dataclass(frozen=True)
class Diagnostic:
    """One complaint. ``code`` is stable and listed in ``codes.py``; ``hint`` says what to type next."""

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    hint: str | None = None
    related: tuple[Related, ...] = ()


class Report:
    """Collects the diagnostics of one run, in the order in which they were found, without repeats."""

    def __init__(self) -> None:
        self._seen: dict[Diagnostic, None] = {}

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        hint: str | None = None,
        related: Iterable[Related] = (),
    ) -> None:
        """Record an error; see :class:`Diagnostic` for the fields."""
        self.add(Diagnostic(code, Severity.ERROR, message, span, hint, tuple(related)))

    def warning(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        hint: str | None = None,
        related: Iterable[Related] = (),
    ) -> None:
        """Record a warning."""
        self.add(Diagnostic(code, Severity.WARNING, message, span, hint, tuple(related)))

    def note(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        hint: str | None = None,
        related: Iterable[Related] = (),
    ) -> None:
        """Record a note."""
        self.add(Diagnostic(code, Severity.NOTE, message, span, hint, tuple(related)))

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a ready-made diagnostic."""
        self._seen.setdefault(diagnostic)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything recorded so far."""
        return tuple(self._seen)

    @property
    def failed(self) -> bool:
        """True once an error was recorded."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self._seen)
