"""JSON files of a model, read with located faults. They are too large and too plain for the reader of recipes."""

from __future__ import annotations

import json
from typing import Any

from sparkc.diagnostics import Report
from sparkc.reading.source import Source, Span


def read_json(name: str, data: bytes, report: Report) -> dict[str, Any] | None:
    """Return the object that a JSON file holds, or None after an error."""
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text)
    except json.JSONDecodeError as error:
        at = Span(Source(name, error.doc), error.lineno, error.colno, error.lineno, error.colno + 1)
        return _refused(f"{name} is not JSON: {error.msg}", at, report)
    except (ValueError, RecursionError):  # not UTF-8, a number of thousands of digits, thousands of brackets
        return _refused(f"{name} is not JSON", Span(Source(name), 1, 1, 1, 1), report)
    if not isinstance(value, dict):
        return _refused(f"{name} holds no JSON object", Span(Source(name, text), 1, 1, 1, 2), report)
    return value


def _refused(message: str, at: Span, report: Report) -> dict[str, Any] | None:
    report.error("SPK721", message, at, hint="download the file again: an interrupted download is cut short")
    return None
