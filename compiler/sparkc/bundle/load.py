"""out/<name>/bundle.json → Manifest, for checks, ``--all`` and the runner."""

from __future__ import annotations

import json
from pathlib import Path

from sparkc import prepared, resources
from sparkc.bundle.file_ops import FileOps
from sparkc.bundle.manifest import MANIFEST, Manifest, from_data
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.reading.read import read_document
from sparkc.reading.schema import validate
from sparkc.reading.source import Source, Span

_REPAIR = "restore bundle.json from git, or compile its recipe again with --force"


def load_manifest(directory: Path, report: Report, fs: FileOps | None = None) -> Manifest | None:
    """Return the manifest of the bundle in ``directory``, checked against its schema.

    None when there is no bundle.json (nothing is reported: an empty folder is no fault) or when it cannot be
    used (then the located errors are in ``report``).

    Raises:
        SparkcError: the file exists but cannot be read.
    """
    fs = fs or FileOps()
    path = directory / MANIFEST
    name = f"{directory.name}/{MANIFEST}"
    try:
        if fs.entry(path) is None:
            return None
        data = fs.read(path)
    except OSError as error:
        raise SparkcError(f"cannot read {path}: {error.strerror}", hint=_REPAIR) from error
    return parse_manifest(name, data, report)


def parse_manifest(name: str, data: bytes, report: Report) -> Manifest | None:
    """Return the manifest in ``data``; ``name`` is the file's name in messages. None after an error."""
    if _fits(data):
        return from_data(json.loads(data))
    # JSON is read as the YAML that it also is: that reader knows where everything stands, json does not.
    document = read_document(name, data, report)
    if document is None or not validate(document, "bundle", report):
        return None
    try:
        return from_data(json.loads(document.source.text))
    except ValueError as error:
        at = Span(document.source, 1, 1, 1, 1)
        if isinstance(error, json.JSONDecodeError):
            at = Span(document.source, error.lineno, error.colno, error.lineno, error.colno + 1)
        report.error("SPK601", f"not JSON: {error}", at, hint=_REPAIR)
        return None


def _fits(data: bytes) -> bool:
    """Return whether ``data`` certainly is a valid bundle.json, which every compile asks of an intact one."""
    validator = prepared.validator("bundle", resources.read_text("schemas", "bundle.schema.json"))
    if validator is None:
        return False
    try:
        validator(json.loads(data))
    except (ValueError, RecursionError, prepared.Invalid):
        return False
    return True


def unlocated(directory: Path) -> Span:
    """Return the place that stands for a bundle as a whole, for diagnostics about its files."""
    return Span(Source(f"{directory.name}/{MANIFEST}"), 1, 1, 1, 1)
