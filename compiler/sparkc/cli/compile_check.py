"""The ``--check`` side of compile: compare, explain, never write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join

import click

from sparkc.bundle.check import Difference, check_bundle
from sparkc.bundle.load import load_manifest
from sparkc.bundle.manifest import MANIFEST, sha256
from sparkc.cli.compile import Writing, compile_recorded, manifest_place, verify_folders
from sparkc.cli.output import from_error, print_diagnostics, shown
from sparkc.cli.project import Project
from sparkc.diagnostics import Diagnostic, Report, Severity
from sparkc.diagnostics.escape import printable_lines
from sparkc.errors import SparkcError
from sparkc.reading.source import Source, Span

# What a file differs by, as its code, and how the closing line says it of a bundle.
_STALE = "SPK606"
_EDITED = "SPK602"
_BLOCKED = "SPK603"
_EXTRA = "SPK607"
_LOST = "cannot be compiled again"
_REFUSED = "were refused by docker-compose"


def check_bundles(project: Project, directories: Sequence[Path], how: Writing) -> int:
    """Compare each bundle with what compile makes of its record. Returns 1 when one differs or does not compile."""
    again = ["sparkc", "compile", "--all", *(["--out", str(how.out)] if how.out != project.out else [])]
    closing = {
        _STALE: f"are stale: {{}}; type: {join(again)}",
        _EDITED: f"were edited by hand: {{}}; undo that, or lose it: {join(again)} --force",
        _BLOCKED: "have something in the way of a file: {}; move it away",
        _EXTRA: "hold files that compile does not make: {}; remove them",
        _LOST: f"{_LOST}: {{}}",
        _REFUSED: f"{_REFUSED}: {{}}",
    }
    verdicts: dict[str, list[str]] = {kind: [] for kind in closing}
    found = Report()
    places: dict[str, Path] = {}
    for directory in directories:
        report = Report()
        places.update(manifest_place(directory))
        for kind in _check(project, directory, how, [*again, directory.name], report):
            verdicts[kind].append(directory.name)
        for diagnostic in report.diagnostics:
            # What the compile itself had to say stands in the bundle's README since it was compiled. As text the
            # difference itself and the closing line say enough of a stale file.
            if diagnostic.severity is Severity.ERROR and (how.format_ != "text" or diagnostic.code != _STALE):
                found.add(diagnostic)
    print_diagnostics(found.diagnostics, how.format_, project, places)
    for kind, names in verdicts.items():
        if names:
            said = closing[kind].format(", ".join(names))
            click.echo(f"{len(names)} of {len(directories)} bundle(s) {said}", err=True)
    failed = any(verdicts.values())
    if not failed and how.format_ == "text":
        click.echo(
            f"{len(directories)} bundle(s) are what compile makes" if directories else f"no bundles in {how.out.name}/"
        )
    return int(failed)


def _check(project: Project, directory: Path, how: Writing, again: Sequence[str], report: Report) -> set[str]:
    """Return what is wrong with a bundle, as keys of the closing lines; the errors are in ``report``."""
    try:
        differences = _differences(project, directory, how.out, report)
    except SparkcError as error:
        report.add(from_error(error))
        return {_LOST}
    if differences is None:
        return {_LOST}
    if how.format_ == "text":
        for difference in differences:
            click.echo("\n".join(printable_lines(difference.diff)), nl=False)
    # An interrupted compile left files of two compiles behind, and the next one finishes it.
    unfinished = report.failed
    manifest = load_manifest(directory, Report())
    recorded = {} if manifest is None else {entry.path: entry.sha256 for entry in manifest.files}
    explained = [_explain(each, directory, recorded, again, unfinished=unfinished) for each in differences]
    for diagnostic in explained:
        report.add(diagnostic)
    kinds = {diagnostic.code for diagnostic in explained} | ({_STALE} if unfinished else set())
    if how.verify and not kinds:
        try:
            verify_folders(directory)
        except SparkcError as error:
            report.add(from_error(error))
            return {_REFUSED}
    return kinds


def _differences(project: Project, directory: Path, out: Path, report: Report) -> Sequence[Difference] | None:
    """Return the differences, or None for a bundle that cannot be compiled again in its place."""
    compiled = compile_recorded(project, directory, out, report)
    if compiled is None:
        return None
    if compiled.directory.resolve() != directory.resolve():
        report.error(
            "SPK705",
            f"{directory.name} is now named {compiled.directory.name}",
            hint=f"compile its recipe again, then remove {directory.name}",
        )
        return None
    return check_bundle(compiled.files, directory, report=report)


def _explain(
    difference: Difference, directory: Path, recorded: Mapping[str, str], again: Sequence[str], *, unfinished: bool
) -> Diagnostic:
    """Return why a file differs and what puts it right, by the rules that a compile follows when it writes."""
    path = directory / difference.path
    what = {
        "changed": "is not what compile makes",
        "missing": "is missing",
        "extra": "is nothing that compile makes",
    }[difference.kind]
    code, hint = _STALE, join(again)
    known = recorded.get(difference.path)
    if unfinished or difference.kind == "missing" or difference.path == MANIFEST:
        pass
    elif difference.kind == "extra" and known is None:
        code, hint = _EXTRA, join(["rm", shown(path)])
    elif path.is_symlink() or not path.is_file():
        code, hint = _BLOCKED, f"move it away, then {join(again)}"
    elif sha256(path.read_bytes()) != known:
        code, what = _EDITED, "was edited by hand" if known else "was not written by sparkc"
        hint = f"undo that, or put the change into the recipe or a mod and lose it here: {join(again)} --force"
    return Diagnostic(
        code,
        Severity.ERROR,
        f"{directory.name}/{difference.path} {what}",
        Span(Source(shown(path)), 1, 1, 1, 1),
        hint,
    )
