"""The ``--check`` side of compile: compare, explain, never write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from sparkc.bundle.check import Difference, check_bundle
from sparkc.cli.compile import compile_recorded, verify_folders
from sparkc.cli.output import Format, print_diagnostics
from sparkc.cli.project import Project
from sparkc.diagnostics import Report, Severity


def check_bundles(project: Project, directories: Sequence[Path], out: Path, format_: Format, *, verify: bool) -> int:
    """Compare each bundle with what compile makes of its record. Returns 1 when one differs or does not compile."""
    stale = []
    reports = Report()
    for directory in directories:
        report = Report()
        differences = _differences(project, directory, out, report)
        if report.failed or differences:
            stale.append(directory.name)
        elif verify:
            verify_folders(directory)
        for difference in differences:
            click.echo(difference.diff, nl=False)
        for diagnostic in report.diagnostics:
            # What the compile itself had to say stands in the bundle's README since it was compiled.
            if diagnostic.severity is Severity.ERROR:
                reports.add(diagnostic)
    print_diagnostics(reports.diagnostics, format_, project)
    if stale:
        listed = ", ".join(stale)
        click.echo(
            f"{len(stale)} of {len(directories)} bundle(s) are stale: {listed}; type: sparkc compile --all", err=True
        )
    elif format_ == "text":
        click.echo(
            f"{len(directories)} bundle(s) are what compile makes" if directories else f"no bundles in {out.name}/"
        )
    return int(bool(stale))


def _differences(project: Project, directory: Path, out: Path, report: Report) -> Sequence[Difference]:
    compiled = compile_recorded(project, directory, out, report)
    if compiled is None:
        return ()
    if compiled.directory.resolve() != directory.resolve():
        report.error(
            "SPK705",
            f"{directory.name} is now named {compiled.directory.name}",
            hint=f"compile its recipe again, then remove {directory.name}",
        )
        return ()
    return check_bundle(compiled.files, directory, report=report)
