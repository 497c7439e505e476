"""What commands print: diagnostics in the format that was asked for, colour only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import click

from sparkc.cli.project import Project
from sparkc.diagnostics import Diagnostic, Report, Severity
from sparkc.errors import SparkcError
from sparkc.reading.source import CATALOGUE, Span
from sparkc.record import replace

_LAST = (Severity.NOTE, Severity.WARNING, Severity.ERROR)

Format = Literal["text", "json", "github"]


def print_diagnostics(
    diagnostics: Sequence[Diagnostic], format_: Format, project: Project, files: Mapping[str, Path] | None = None
) -> None:
    """Print diagnostics: text to standard error, the formats for programs to standard output.

    The text ends with the errors, where the eye falls first. Files are shown by the path from the current folder,
    which editors and CI can open; ``files`` maps the names of sources that do not lie in the project to their paths.
    A recipe of our catalogue keeps its name: where it is installed is nothing to edit.
    """
    if not diagnostics and format_ == "text":
        return
    from sparkc.diagnostics.render import render  # nothing to print on a clean run

    paths = {name: shown(path) for name, path in (files or {}).items() if not name.startswith(CATALOGUE)}
    if format_ == "text":
        diagnostics = sorted(diagnostics, key=lambda diagnostic: _LAST.index(diagnostic.severity))
    located = [_located(diagnostic, project, paths) for diagnostic in diagnostics]
    stream = sys.stderr if format_ == "text" else sys.stdout
    colour = format_ == "text" and stream.isatty()
    click.echo(render(located, format_, color=colour).rstrip("\n"), file=stream)


def from_error(error: SparkcError) -> Diagnostic:
    """Return what failed in the world as a diagnostic, for the formats that programs read."""
    return Diagnostic("SPK706", Severity.ERROR, error.facts, hint=error.hint)


def shown(path: Path) -> str:
    """Return a path as the user would type it: relative to the current folder when it lies below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def exit_code(report: Report, *, strict: bool = False) -> int:
    """Return 1 when there are errors, or with ``strict`` also when there are warnings."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return int(any(diagnostic.severity in failing for diagnostic in report.diagnostics))


def _located(diagnostic: Diagnostic, project: Project, paths: Mapping[str, str]) -> Diagnostic:
    related = tuple(replace(place, span=_renamed(place.span, project, paths)) for place in diagnostic.related)
    span = diagnostic.span
    return replace(diagnostic, span=None if span is None else _renamed(span, project, paths), related=related)


def _renamed(span: Span, project: Project, paths: Mapping[str, str]) -> Span:
    name = span.source.name
    path = paths.get(name)
    if path is None and (project.root / name).is_file():
        path = shown(project.root / name)
    return span if path is None else replace(span, source=replace(span.source, name=path))
