"""How many diagnostics of each severity there are, in words."""

from __future__ import annotations

from collections.abc import Iterable

from sparkc.diagnostics.model import Diagnostic, Severity


def counts(diagnostics: Iterable[Diagnostic]) -> dict[Severity, int]:
    """Return the number of diagnostics per severity, in the order of the severities."""
    result = dict.fromkeys(Severity, 0)
    for diagnostic in diagnostics:
        result[diagnostic.severity] += 1
    return result


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Return e.g. "2 errors, 1 warning"; "" without diagnostics."""
    found = counts(diagnostics).items()
    return ", ".join(f"{count} {severity.value}{'' if count == 1 else 's'}" for severity, count in found if count)
