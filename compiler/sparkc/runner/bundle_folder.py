"""The bundle that a command is to work on: found by path or name, whole, and as it was compiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sparkc.bundle.file_ops import FileOps, walk
from sparkc.bundle.load import load_manifest
from sparkc.bundle.manifest import MANIFEST, FileEntry, Manifest, RankEntry, files_digest, sha256
from sparkc.bundle.model import BundleFile
from sparkc.bundle.write import JOURNAL
from sparkc.diagnostics.escape import printable
from sparkc.diagnostics.model import Report
from sparkc.diagnostics.render import render
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.errors import SparkcError
from sparkc.record import dataclass


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk: its folder and what bundle.json says."""

    folder: Path
    manifest: Manifest


def find_folder(out: Path, argument: str) -> Path | None:
    """Return the folder of a bundle, a path or a name under ``out``; None when there is none."""
    folders = [Path(argument), out / argument] if argument else []
    return next((folder for folder in folders if (folder / MANIFEST).is_file()), None)


def bundle_names(out: Path) -> list[str]:
    """Return the names of the bundles under ``out``."""
    return sorted(path.parent.name for path in out.glob(f"*/{MANIFEST}"))


def load_bundle(out: Path, argument: str) -> Bundle:
    """Return the bundle that ``argument`` means, readable and finished; its files may still be edited.

    Raises:
        SparkcError: there is none, or its bundle.json cannot be used.
    """
    folder = find_folder(out, argument)
    if folder is None:
        _check_begun(out, argument)
        names = bundle_names(out)
        near = did_you_mean(argument.rstrip("/").rpartition("/")[2], names)
        listed = near or (f"there are: {', '.join(names)}" if names else "sparkc compile RECIPE makes one")
        raise SparkcError(f"there is no bundle {argument!r} here or under {out.name}/", hint=listed)
    report = Report()
    manifest = load_manifest(folder, report)
    if manifest is None:
        raise SparkcError(f"{folder / MANIFEST} cannot be used", output=render(report.diagnostics, "text", color=False))
    return Bundle(folder, manifest)


def _check_begun(out: Path, argument: str) -> None:
    """Tell what is wrong with a place that is nearly a bundle.

    Raises:
        SparkcError: a first compile was interrupted, or the argument names something inside a bundle.
    """
    for place in (Path(argument), out / argument):
        if (place / JOURNAL).is_file():
            raise _unfinished(place.name)
        holder = next((parent for parent in place.parents if (parent / MANIFEST).is_file()), None)
        if place.exists() and holder is not None:
            raise SparkcError(f"{argument} is a part of a bundle", hint=f"a bundle is worked on as a whole: {holder}")


def _unfinished(name: str) -> SparkcError:
    return SparkcError(
        f"{name} is unfinished: a compile was interrupted while it was written", hint="compile it again to finish it"
    )


def check_deployable(bundle: Bundle) -> None:
    """Make sure that a bundle is what was compiled, for nodes that exist.

    Raises:
        SparkcError: it is unfinished, edited, or for the example inventory.
    """
    manifest, folder = bundle.manifest, bundle.folder
    if "builtin" in manifest.inventory:
        raise SparkcError(
            f"{manifest.name} is compiled for the built-in example inventory, whose nodes do not exist",
            hint="sparkc init starts an inventory of your own nodes; then compile again",
        )
    if (folder / JOURNAL).exists():
        raise _unfinished(manifest.name)
    try:
        wrong = list(_differences(bundle)) or list(_wrong_digests(bundle))
    except OSError as error:
        raise SparkcError(f"cannot read {error.filename or folder}: {error.strerror or error}") from error
    if wrong:
        raise SparkcError(
            f"{manifest.name} is not as it was compiled",
            output="\n".join(map(printable, wrong)),
            hint="change the recipe or the inventory and compile again; sparkc compile --check shows the difference",
        )


def _differences(bundle: Bundle) -> Iterator[str]:
    fs = FileOps()
    on_disk = dict(walk(fs, bundle.folder))
    on_disk.pop(MANIFEST, None)
    for file in bundle.manifest.files:
        entry = on_disk.pop(file.path, None)
        if entry is None:
            yield f"{file.path} is missing"
        elif entry.kind != "file" or sha256(fs.read(bundle.folder / file.path)) != file.sha256:
            yield f"{file.path} was changed"
    yield from (f"{path} does not belong there" for path in on_disk)


def _wrong_digests(bundle: Bundle) -> Iterator[str]:
    """A release is known by its digest alone: it must be that of the files, or nodes would keep another's."""
    manifest = bundle.manifest
    for rank in manifest.ranks:
        own = [entry for entry in manifest.files if entry.path.startswith(f"{rank.folder}/")]
        files = [_without_digest(bundle.folder, rank, entry) for entry in own]
        if files_digest(files) != rank.digest:
            yield f"{MANIFEST} has another digest for {rank.folder} than its files"
    if sha256("\n".join(rank.digest for rank in manifest.ranks).encode()) != manifest.group_digest:
        yield f"{MANIFEST} has another group digest than its ranks"


def _without_digest(folder: Path, rank: RankEntry, entry: FileEntry) -> BundleFile:
    """Return a file of a rank as its digest covers it: the last line of compose.yaml is the digest itself."""
    path = entry.path.removeprefix(f"{rank.folder}/")
    data = (folder / entry.path).read_bytes()
    if path == "compose.yaml":
        data = data.removesuffix(f'"{rank.digest}"\n'.encode()) + b'""\n'
    return BundleFile(path, data, int(entry.mode, 8))
