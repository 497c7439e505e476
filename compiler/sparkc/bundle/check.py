"""``compile --check``: is what lies in out/<name>/ what the recipe says? Never writes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from sparkc.bundle.file_ops import FileOps, walk
from sparkc.bundle.load import unlocated
from sparkc.bundle.model import BundleFile, Files
from sparkc.bundle.write import JOURNAL
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.record import dataclass


@dataclass(frozen=True)
class Difference:
    """One file that is not as compiled. ``diff`` is a unified diff from the folder to the compiled bundle."""

    path: str
    kind: Literal["changed", "missing", "extra"]
    diff: str


def check_bundle(files: Files, directory: Path, *, report: Report, fs: FileOps | None = None) -> tuple[Difference, ...]:
    """Return every difference between ``directory`` and the rendered ``files``, sorted by path.

    A bundle that an interrupted compile left unfinished is an error in ``report``, whatever its files are. File modes
    count by their x bit only. Raises ``SparkcError`` when something cannot be read.
    """
    fs = fs or FileOps()
    try:
        if fs.entry(directory / JOURNAL) is not None:
            report.error(
                "SPK605",
                f"{directory.name} is unfinished: a compile was interrupted while it was written",
                unlocated(directory),
                hint="compile it again to finish it",
            )
        return tuple(sorted(_differences(fs, files, directory), key=lambda difference: difference.path))
    except OSError as error:
        raise SparkcError(f"cannot read {error.filename or directory}: {error.strerror or error}") from error


def _differences(fs: FileOps, files: Files, directory: Path) -> list[Difference]:
    found: list[Difference] = []
    on_disk = dict(walk(fs, directory))
    name = directory.name
    for file in files:
        entry = on_disk.pop(file.path, None)
        if entry is None:
            found.append(Difference(file.path, "missing", _diff(f"{name}/{file.path}", None, file.data)))
        elif entry.kind != "file":
            found.append(Difference(file.path, "changed", f"{name}/{file.path} is not a plain file\n"))
        else:
            diff = _compare(f"{name}/{file.path}", file, fs.read(directory / file.path), entry.mode)
            if diff:
                found.append(Difference(file.path, "changed", diff))
    for path, entry in on_disk.items():
        data = fs.read(directory / path) if entry.kind == "file" else b""
        found.append(Difference(path, "extra", _diff(f"{name}/{path}", data, None)))
    return found


def _compare(name: str, file: BundleFile, current: bytes, mode: int) -> str:
    diff = ""
    if bool(mode & 0o111) != bool(file.mode & 0o111):
        diff = f"{name} is {'' if mode & 0o111 else 'not '}executable, compiled it is {file.mode:04o}\n"
    return diff if current == file.data else diff + _diff(name, current, file.data)


def _diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """Return a unified diff; None stands for a file that is not there."""
    import difflib  # a bundle that is up to date needs none: 4 ms

    old, new = f"a/{name}", f"b/{name}"
    if before is None:
        old = "/dev/null"
    if after is None:
        new = "/dev/null"
    try:
        left, right = _lines(before or b""), _lines(after or b"")
    except UnicodeDecodeError:
        return f"--- {old}\n+++ {new}\nBinary files differ\n"
    diff = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(left, right, old, new)
    ]
    return "".join(diff) or f"--- {old}\n+++ {new}\n"


def _lines(data: bytes) -> list[str]:
    """Split at LF only; ``str.splitlines`` would also break at U+0085, a character like any other in a value."""
    lines = [f"{line}\n" for line in data.decode().split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
