"""Diagnostics for programs: one JSON object. Its shape is part of the command line's interface."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sparkc.diagnostics.model import Diagnostic
from sparkc.diagnostics.summary import counts
from sparkc.reading.source import Span


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """Return ``{"diagnostics": [...], "summary": {"errors": n, "warnings": n, "notes": n}}``.

    Lines and columns count from 1, ends are exclusive; a diagnostic without a place has null for all five.
    """
    found = list(diagnostics)
    document = {
        "diagnostics": [_diagnostic(diagnostic) for diagnostic in found],
        "summary": {f"{severity.value}s": count for severity, count in counts(found).items()},
    }
    return json.dumps(document, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        **_place(diagnostic.span),
        "hint": diagnostic.hint,
        "related": [{"message": related.message, **_place(related.span)} for related in diagnostic.related],
    }


def _place(span: Span | None) -> dict[str, Any]:
    return {
        "file": span.source.name if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "end_line": span.end_line if span else None,
        "end_column": span.end_column if span else None,
    }
