"""Files → out/<name>/, whole or not at all.

The order is what makes it safe: the journal ``.sparkc-writing`` first (it names the files about to appear, with
their hashes), then each changed file by temporary file and rename, then what the old manifest listed and the new one
does not is removed, then bundle.json, and the journal goes last. Stopped anywhere, the folder holds the old bundle,
the new one, or one marked unfinished: a check refuses that one, and the next compile finishes it. There is
no clean-up code on the way out: a killed process would not run it either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from sparkc.bundle.file_ops import PREFIX, TEMPORARY, FileOps
from sparkc.bundle.load import parse_manifest, unlocated
from sparkc.bundle.manifest import MANIFEST, Manifest, sha256
from sparkc.bundle.model import BundleFile, Files
from sparkc.bundle.quoting import IMPOSSIBLE
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.record import dataclass, field

JOURNAL = f"{PREFIX}writing"
# Line-end conversion by git would look like hand edits.
_GIT_ATTRIBUTES = b"* -text\n"

# Hashes that are ours, by path: a file that matches one of them was written by sparkc.
_Known = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class WriteResult:
    """What a write did, as sorted paths relative to the bundle's folder."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]


@dataclass(frozen=True)
class _State:
    """What lies in the folder before writing. ``mode_only`` need a chmod and no bytes."""

    known: _Known
    unfinished: bool
    changed: list[BundleFile] = field(default_factory=list)
    mode_only: list[BundleFile] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def write_bundle(
    files: Files, directory: Path, *, force: bool, report: Report, fs: FileOps | None = None
) -> WriteResult | None:
    """Make ``directory`` hold exactly ``files`` and whatever in it is not ours.

    Args:
        files: a rendered bundle.
        directory: ``out/<name>``; it and its parents are made if needed.
        force: overwrite hand edits, files that sparkc did not write, and the bundle of another recipe or inventory;
            symlinks and folders in the way are refused all the same.
        report: takes the reasons for a refusal, each naming its file.
        fs: file operations, for tests.

    Returns:
        What changed, or None after a refusal, in which case nothing was touched.

    Raises:
        SparkcError: the file system failed; what is there is then marked unfinished and the next write finishes it.
    """
    fs = fs or FileOps()
    try:
        refusals = Report()
        state = _examine(fs, directory, files, force, refusals)
        for diagnostic in refusals.diagnostics:
            report.add(diagnostic)
        if state is None:
            return None
        if state.changed or state.mode_only or state.removed or state.unfinished:
            _apply(fs, directory, files, state)
    except OSError as error:
        path = error.filename2 or error.filename or directory
        raise SparkcError(
            f"cannot write {path}: {error.strerror or error}",
            hint="make it writable for this user and compile again; an unfinished bundle is then completed",
        ) from error
    touched = sorted(file.path for file in (*state.changed, *state.mode_only))
    rest = sorted({file.path for file in files} - set(touched))
    return WriteResult(tuple(touched), tuple(sorted(state.removed)), tuple(rest))


def _examine(fs: FileOps, directory: Path, files: Files, force: bool, report: Report) -> _State | None:
    """Compare the folder with ``files``; None after a refusal."""
    if not _is_free(fs, directory, (file.path for file in files), report):
        return None
    journal = _read_journal(fs, directory)
    old = _old_manifest(fs, directory, force, report)
    if report.failed:  # a damaged bundle.json: without it every file would look foreign
        return None
    known: dict[str, set[str]] = {path: set(hashes) for path, hashes in (journal or {}).items()}
    if old is not None:
        for entry in old.files:
            known.setdefault(entry.path, set()).add(entry.sha256)
        _check_source(old, files, directory, force, report)
    state = _State({path: frozenset(hashes) for path, hashes in known.items()}, unfinished=journal is not None)
    for file in files:
        _compare(fs, directory, file, state, force, report)
    gone = sorted(state.known.keys() - {file.path for file in files})
    if not _is_free(fs, directory, gone, report):
        return None
    for path in gone:
        if fs.entry(directory / path) is None:
            continue
        state.removed.append(path)
        if not force and sha256(fs.read(directory / path)) not in state.known[path]:
            _refuse_edit(directory, path, "is no longer part of the bundle, but was edited by hand", report)
    return None if report.failed else state


def _compare(fs: FileOps, directory: Path, file: BundleFile, state: _State, force: bool, report: Report) -> None:
    entry = fs.entry(directory / file.path)
    if entry is None:
        state.changed.append(file)
        return
    current = fs.read(directory / file.path)
    if current == file.data:
        # Only the x bits count: the others follow the umask of whoever checked the bundle out.
        if bool(entry.mode & 0o111) != bool(file.mode & 0o111):
            state.mode_only.append(file)
        return
    state.changed.append(file)
    # An unreadable bundle.json was refused already; a readable one says what is ours and cannot list itself.
    if file.path == MANIFEST or force or sha256(current) in state.known.get(file.path, ()):
        return
    known = file.path in state.known
    _refuse_edit(directory, file.path, "was edited by hand" if known else "was not written by sparkc", report)


def _refuse_edit(directory: Path, path: str, what: str, report: Report) -> None:
    report.error(
        "SPK602",
        f"{directory.name}/{path} {what}",
        unlocated(directory),
        hint="put the change into the recipe or a mod, or compile again with --force to lose it",
    )


def _is_free(fs: FileOps, directory: Path, paths: Iterable[str], report: Report) -> bool:
    """Report everything that stands where a plain file or folder must be; writing would follow or destroy it."""
    wanted: dict[Path, str] = {directory: "directory"}
    for path in paths:
        wanted.update({directory / parent: "directory" for parent in PurePosixPath(path).parents})
        wanted[directory / path] = "file"
    free = True
    for path_on_disk, kind in wanted.items():
        entry = fs.entry(path_on_disk)
        if entry is not None and entry.kind != kind:
            free = False
            what = "a symlink or a special file" if entry.kind == "other" else f"a {entry.kind}"
            report.error(
                "SPK603",
                f"{path_on_disk.relative_to(directory.parent)} is {what} where the bundle has a {kind}",
                unlocated(directory),
                hint="move it away and compile again",
            )
    return free


def _old_manifest(fs: FileOps, directory: Path, force: bool, report: Report) -> Manifest | None:
    """Return the manifest on disk. A damaged one is an error, or with ``force`` as good as none."""
    if fs.entry(directory / MANIFEST) is None:
        return None
    data = fs.read(directory / MANIFEST)
    return parse_manifest(f"{directory.name}/{MANIFEST}", data, Report() if force else report)


def _check_source(old: Manifest, files: Files, directory: Path, force: bool, report: Report) -> None:
    """Refuse to turn the bundle of one recipe into that of another that happens to have the same name."""
    new = next(json.loads(file.data) for file in files if file.path == MANIFEST)
    pairs = [("recipe", old.recipe, new["recipe"])]
    # Nobody deploys the built-in example, so a first inventory of one's own may replace it.
    if "builtin" not in old.inventory:
        pairs.append(("inventory", old.inventory, new["inventory"]))
    for what, before, now in pairs:
        # A recipe from outside the project keeps its name while its hash follows its content.
        had, has = ({key: value for key, value in record.items() if key != "sha256"} for record in (before, now))
        if had != has and not force:
            report.error(
                "SPK604",
                f"{directory.name} was made from the {what} {_shown(had)}, not from {_shown(has)}",
                unlocated(directory),
                hint="choose another folder with --name, or replace the bundle with --force",
            )


def _shown(record: Mapping[str, str]) -> str:
    return ", ".join(value if key == "path" else f"{key} {value}" for key, value in record.items())


def _read_journal(fs: FileOps, directory: Path) -> dict[str, list[str]] | None:
    """Return the hashes that an unfinished write announced, or None if none is under way.

    A damaged journal still marks the bundle as unfinished, but vouches for nothing.
    """
    if fs.entry(directory / JOURNAL) is None:
        return None
    try:
        found = json.loads(fs.read(directory / JOURNAL))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(_is_announcement(path, hashes) for path, hashes in found.items()):
        return {}
    return found


def _is_announcement(path: str, hashes: object) -> bool:
    inside = not {"", ".", ".."}.intersection(path.split("/")) and not IMPOSSIBLE.search(path)
    return inside and isinstance(hashes, list) and all(isinstance(each, str) for each in hashes)


def _apply(fs: FileOps, directory: Path, files: Files, state: _State) -> None:
    fs.make_directory(directory)
    attributes = directory.parent / ".gitattributes"
    if fs.entry(attributes) is None:
        _put(fs, attributes, _GIT_ATTRIBUTES, 0o644)
    # Hashes announced earlier stay: files of an interrupted write may still be there after the next interruption.
    announced = {path: set(hashes) for path, hashes in state.known.items()}
    for file in files:
        announced.setdefault(file.path, set()).add(sha256(file.data))
    journal = json.dumps({path: sorted(announced[path]) for path in sorted(announced)}, indent=1) + "\n"
    _put(fs, directory / JOURNAL, journal.encode(), 0o644)
    fs.sync_directory(directory)

    _sweep(fs, directory, announced)
    manifest = [file for file in state.changed if file.path == MANIFEST]
    for file in state.changed:
        if file.path != MANIFEST:
            fs.make_directory((directory / file.path).parent)
            _put(fs, directory / file.path, file.data, file.mode)
    for file in state.mode_only:
        fs.set_mode(directory / file.path, file.mode)
    for path in state.removed:
        fs.remove(directory / path)
    _remove_empty(fs, directory, announced.keys() - {file.path for file in files})
    for folder in sorted({(directory / file.path).parent for file in files}):
        fs.sync_directory(folder)
    for file in manifest:
        _put(fs, directory / MANIFEST, file.data, file.mode)
        fs.sync_directory(directory)
    fs.remove(directory / JOURNAL)


def _put(fs: FileOps, path: Path, data: bytes, mode: int) -> None:
    temporary = path.with_name(f"{TEMPORARY}{sha256(path.name.encode())[:16]}")
    fs.write_new(temporary, data, mode)
    fs.replace(temporary, path)


def _sweep(fs: FileOps, directory: Path, paths: Iterable[str]) -> None:
    """Remove temporary files that an interrupted write left in our folders."""
    for folder in sorted({directory / parent for path in paths for parent in PurePosixPath(path).parents}):
        for name in fs.names(folder):
            if name.startswith(TEMPORARY):
                fs.remove(folder / name)


def _remove_empty(fs: FileOps, directory: Path, paths: Iterable[str]) -> None:
    """Remove the folders of files that are gone, deepest first, where nothing else is left in them."""
    folders = {parent for path in paths for parent in PurePosixPath(path).parents if parent.name}
    for folder in sorted(folders, key=lambda parent: len(parent.parts), reverse=True):
        if fs.entry(directory / folder) is not None and not fs.names(directory / folder):
            fs.remove_directory(directory / folder)
