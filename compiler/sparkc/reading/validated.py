"""Schema first, then a reader: both look at the whole document, and neither repeats the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sparkc.diagnostics.model import Diagnostic, Report
from sparkc.reading.node import Document
from sparkc.reading.schema import validate

T = TypeVar("T")

_WRONG_FORM = "SPK032"


def read_validated(document: Document, kind: str, report: Report, read: Callable[[Report], T | None]) -> T | None:
    """Return what ``read`` makes of a document, or None when the document has errors.

    A document that breaks the schema ``kind`` is read all the same, for faults that no schema can state. One place
    gets one complaint: the reader's where the schema only knows that a text has the wrong form, else the schema's.
    The complaints of both go to ``report`` in the order of the file.
    """
    shape, findings = Report(), Report()
    valid = validate(document, kind, shape)
    value = read(findings)
    explained = {_place(found) for found in findings.diagnostics}
    kept = [found for found in shape.diagnostics if found.code != _WRONG_FORM or _place(found) not in explained]
    taken = {_place(found) for found in kept}
    kept += [found for found in findings.diagnostics if _place(found) not in taken]
    for found in sorted(kept, key=_place):
        report.add(found)
    return value if valid and not findings.failed else None


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    return (diagnostic.span.line, diagnostic.span.column) if diagnostic.span else (0, 0)
