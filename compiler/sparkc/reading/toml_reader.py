"""TOML to a document with a span on every key and value. tomli decides what is valid and what strings mean."""

from __future__ import annotations

import re
from typing import Any

import tomli

from sparkc.diagnostics.model import Related, Report
from sparkc.reading.node import Document, Entry, Mapping, Node, Scalar, Sequence
from sparkc.reading.source import Source, Span
from sparkc.reading.toml_scan import Array, Duplicate, Found, Place, Scan, Table

MAX_DEPTH = 64

# tomli's words for a key or table that exists already; the scan knows which one and where.
_COLLISIONS = (
    "Cannot overwrite a value",
    "Cannot declare",
    "Cannot mutate immutable namespace",
    "Duplicate inline table key",
)
_HINTS = {
    "Invalid value": "quote it if it is meant as text",
    "Expected '=' after a key": "write key = value; quote a key that has spaces or colons",
    "Invalid statement": "write key = value, or a [table] header",
    "Unescaped '\\' in a string": "write \\\\ for a backslash, or use single quotes",
    "Expected newline": "write one 'key = value' per line; quote the value if it is text",
    "Unterminated string": "add the closing quote",
    "Unclosed array": "add ']' after the last item, and a comma between items",
    "Unclosed inline table": "add '}' after the last pair, and a comma between pairs",
}


def read_toml(source: Source, report: Report) -> Document | None:
    """Return the document, or None after an error; all duplicate keys up to a syntax error are reported at once.

    Integers, floats, booleans and dates are "typed" scalars with the characters of the file as their text.
    """
    scan = Scan(source.text, MAX_DEPTH)
    if scan.stop is not None and scan.stop.too_deep:
        span = source.span(scan.stop.offset, scan.stop.offset + 1)
        report.error("SPK010", f"nested more than {MAX_DEPTH} levels deep", span, hint="no sparkc document needs that")
        return None
    for duplicate in scan.duplicates:
        _report_duplicate(duplicate, source, report)
    values = _values(source, scan, report)
    if values is None:
        return None
    if scan.stop is not None:
        span = source.span(scan.stop.offset, scan.stop.offset + 1)
        report.error("SPK017", "this TOML cannot be read", span, hint="write one 'key = value' per line")
        return None
    if scan.duplicates:
        return None
    root = _table(scan.root, values, source)
    if not root.entries:
        report.error("SPK014", f"{source.name} is empty", source.span(0, 0), hint="write 'key = value' lines")
        return None
    return Document(source, root, "toml")


def _values(source: Source, scan: Scan, report: Report) -> dict[str, Any] | None:
    try:
        return tomli.loads(source.text)
    except tomli.TOMLDecodeError as error:
        if not (scan.duplicates and error.msg.startswith(_COLLISIONS)):
            _report_fault(error, source, report)
    except ValueError:  # Python refuses to convert a whole number of more than 4300 digits (CVE-2020-10735)
        _report_long_number(source, report)
    except RecursionError:  # brackets past the place where the scan gave up
        return {}
    return None


def _report_long_number(source: Source, report: Report) -> None:
    match = re.search(r"[0-9][0-9_]{4000,}", source.text)
    span = source.span(match.start(), match.end()) if match is not None else source.span(0, 0)
    report.error("SPK017", "this number is too long for TOML", span, hint="quote it, if it is meant as text")


def _build(found: Found, value: Any, source: Source) -> Node:
    """Join what the scan found with tomli's value of it; depth is bounded by :data:`MAX_DEPTH`."""
    span = _span(found.place, source)
    if isinstance(found, Table):
        return _table(found, value, source)
    if isinstance(found, Array):
        return Sequence(
            tuple(_build(inner, item, source) for inner, item in zip(found.items, value, strict=True)), span
        )
    if isinstance(value, str):
        return Scalar(value, "quoted", span)
    return Scalar(source.text[found.place.start : found.place.end], "typed", span)


def _table(found: Table, values: Any, source: Source) -> Mapping:
    entries = (
        Entry(Scalar(name, "quoted", _span(found.keys[name], source)), _build(inner, values[name], source))
        for name, inner in found.values.items()
    )
    return Mapping(tuple(entries), _span(found.place, source))


def _report_duplicate(duplicate: Duplicate, source: Source, report: Report) -> None:
    first = _span(duplicate.first, source)
    report.error(
        "SPK006",
        f"duplicate key {duplicate.name!r}, first defined at line {first.line}",
        _span(duplicate.place, source),
        hint="remove one of the two",
        related=[Related(f"{duplicate.name!r} is first defined here", first)],
    )


def _report_fault(error: tomli.TOMLDecodeError, source: Source, report: Report) -> None:
    offset = min(error.pos, len(source.text))
    complaint = error.msg
    if complaint == "Illegal character '\\n'":
        complaint = "Unterminated string"  # a one-line string met the end of its line
    hint = next((hint for start, hint in _HINTS.items() if complaint.startswith(start)), "see https://toml.io")
    message = f"{complaint[:1].lower()}{complaint[1:]}"
    report.error("SPK017", message, source.span(offset, offset + 1), hint=hint)


def _span(place: Place, source: Source) -> Span:
    return source.span(place.start, place.end)
