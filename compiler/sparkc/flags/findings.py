"""How sure a finding is: an error on the engine's own release, a note where the image may know more than we do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sparkc.diagnostics import Report
from sparkc.diagnostics.model import Diagnostic, Related, Severity
from sparkc.flags import dumps
from sparkc.flags.dumps import Dump
from sparkc.flags.versions import Basis
from sparkc.traced import Traced

_ASSUMED = " (assumed: nothing says which version the image has)"
_TOO_OLD = " (the oldest version known here; yours is older)"


class Findings:
    """Reports what the checks find, with the severity that the :class:`Basis` allows.

    ``patched``: mods may change the engine, so that it can know flags which its release does not. ``brought`` are the
    flags that a mod is known to bring.
    """

    def __init__(
        self, basis: Basis, report: Report, *, patched: bool = False, brought: frozenset[str] = frozenset()
    ) -> None:
        self.basis = basis
        self.dump = dumps.load(basis.engine, basis.known)
        self.brought = brought
        self._report = report
        self.complete = basis.release and not patched and not basis.guess

    def unknown(
        self,
        code: str,
        message: str,
        at: Traced[str],
        *,
        hint: str | None = None,
        known: Callable[[Dump], bool],
    ) -> None:
        """Report something that the recorded parser does not have, which another build of the engine could have.

        ``known`` asks a parser for it: where the stated version lies between two recorded ones, the later may
        have it already.
        """
        following = self.basis.following
        if following is not None and known(dumps.load(self.basis.engine, following)):
            message = f"{message}; {following} has it, and {self.basis.stated} lies between the two"
            self._add(Severity.NOTE, code, message, at, hint)
            return
        self._add(Severity.ERROR if self.complete else Severity.NOTE, code, message, at, hint)

    def ignored(
        self, code: str, message: str, at: Traced[str], *, hint: str | None = None, known: Callable[[Dump], bool]
    ) -> None:
        """Report something without effect in the recorded version, which another build of the engine could know."""
        following = self.basis.following
        later = following is not None and known(dumps.load(self.basis.engine, following))
        self._add(Severity.WARNING if self.complete and not later else Severity.NOTE, code, message, at, hint)

    def wrong(self, code: str, message: str, at: Traced[str], *, hint: str | None = None) -> None:
        """Report what the engine refuses in every build of the version."""
        self._add(Severity.ERROR, code, message, at, hint)

    def doubtful(
        self,
        code: str,
        message: str,
        at: Traced[str],
        *,
        hint: str | None = None,
        related: Iterable[Related] = (),
    ) -> None:
        """Report what the engine takes although it is hardly meant."""
        self._add(Severity.WARNING, code, message, at, hint, related)

    def note(self, code: str, message: str, at: Traced[str], *, hint: str | None = None) -> None:
        """Tell what a flag brings with it."""
        self._add(Severity.NOTE, code, message, at, hint)

    def _add(
        self,
        severity: Severity,
        code: str,
        message: str,
        at: Traced[str],
        hint: str | None,
        related: Iterable[Related] = (),
    ) -> None:
        if self.basis.guess:
            severity = Severity.NOTE
            if self.basis.name in message:
                message += _ASSUMED if self.basis.stated is None else _TOO_OLD
        if at.origin.span is None:
            message = f"{message} ({at.origin.text})"
        self._report.add(Diagnostic(code, severity, message, at.origin.span, hint, tuple(related)))
