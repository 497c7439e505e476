"""Mods on disk: find a mod by its name, read its folder or zip into entries. What is allowed is decided elsewhere.

Reading stops soon after the limits of :mod:`sparkc.planning.mods`, whatever sizes a zip declares, so that a zip
bomb costs 64 MiB of memory and then gets the same message as any mod that is too large.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from sparkc import resources
from sparkc.cli.output import shown
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.planning.model import Mod
from sparkc.planning.mods import COUNT_LIMIT, SIZE_LIMIT, ModEntry, build_mod, check_mod_list, mod_name, unknown_mod
from sparkc.traced import Traced

# By-products of git, of a Python that ran here and of the macOS Finder: different on each machine, used on none.
_BY_PRODUCTS = {".git", "__pycache__", ".DS_Store"}


def load_mods(
    references: Sequence[Traced[str]], *, recipe_folder: Path | None, project: Path, foreign: bool, report: Report
) -> tuple[Mod, ...]:
    """Return the mods that a recipe and the flags name, in their order; every fault is in ``report``.

    A mod that is missing or refused has a stand-in, so that the other faults of a compile come in the same run.

    Args:
        references: mods as written, the recipe's first.
        recipe_folder: where the recipe's file lies, None for a recipe without a file.
        project: the project folder.
        foreign: the recipe is in another tool's dialect, where ``mods/x`` is the mod ``x``.
        report: takes missing and faulty mods, and a note for each of the user's mods that replaces one of ours.

    Raises:
        SparkcError: a mod's files cannot be read.
    """
    places = [
        find_mod(reference.value, recipe_folder=recipe_folder, project=project, foreign=foreign)
        for reference in references
    ]
    found_or_near = list(zip(references, places, strict=True))
    missing = {reference.value for reference, found in found_or_near if not isinstance(found, Path)}
    check_mod_list(references, report, missing)
    mods = []
    for reference, found in found_or_near:
        span = reference.origin.span
        if not isinstance(found, Path):
            near = f"did you mean {' or '.join(map(repr, found))}? " if found else ""
            hint = _copy_hint(mod_name(reference.value), recipe_folder, project)
            hint = hint or f"{near}put its folder, or its zip, into the project's mods/"
            report.error("SPK512", f"there is no mod {reference.value!r}", span, hint=hint)
            mods.append(unknown_mod(reference))
            continue
        name = mod_name(found.name)
        if (ours := resources.folder("mods")) not in found.parents and (ours / name).is_dir():
            report.note("SPK513", f"mod {name!r} is the one from {_place(found, project)}, not sparkc's own", span)
        mods.append(build_mod(name, read_mod_entries(found), reference, report) or unknown_mod(reference))
    return tuple(mods)


def find_mod(reference: str, *, recipe_folder: Path | None, project: Path, foreign: bool) -> Path | tuple[str, ...]:
    """Return the folder or zip that ``reference`` names, or near names (perhaps none) when there is no such mod.

    Looked up relative to the recipe's file, then in the project's ``mods/``, then among sparkc's own. An absolute
    path is taken as it is. A zip may be named with or without ``.zip``.
    """
    named = reference.removeprefix("mods/") if foreign else reference
    shelves = [project / "mods", resources.folder("mods")]
    places = [folder / named for folder in shelves]
    if recipe_folder is not None:
        places.insert(0, recipe_folder / reference)
    found = _first(places) if mod_name(reference) else None
    if found is not None:
        return found
    from difflib import get_close_matches  # only on the way to an error message

    known = {mod_name(path.name) for shelf in shelves if shelf.is_dir() for path in shelf.iterdir() if _is_mod(path)}
    return tuple(get_close_matches(mod_name(reference), sorted(known), n=3))


def _first(places: Sequence[Path]) -> Path | None:
    """Return the first folder or zip among ``places``, each with or without ``.zip``."""
    for place in places:
        for candidate in (place, Path(f"{place}.zip")):
            if os.path.isdir(candidate) or os.path.isfile(candidate):  # noqa: PTH112,PTH113  # no error for odd names
                return candidate
    return None


def _copy_hint(name: str, recipe_folder: Path | None, project: Path) -> str | None:
    """Return the command that copies a mod from the recipe's own repository, where that has it beside recipes/."""
    if recipe_folder is None or not name:
        return None
    # os.path: `svd/recipes/../mods` is what the user would type as `svd/mods`
    found = _first([Path(os.path.normpath(recipe_folder / up / "mods" / name)) for up in ("..", "../..")])
    if found is None:
        return None
    from shlex import join  # only on the way to an error message

    target = shown(project / "mods")
    make = "" if (project / "mods").is_dir() else f"{join(['mkdir', '-p', target])} && "
    return make + join(["cp", "-r", shown(found), f"{target}/"])


def read_mod_entries(path: Path) -> list[ModEntry]:
    """Return what a mod's folder or zip holds, sorted by path, the same on every machine. Links are not followed.

    ``.git``, ``__pycache__`` and ``.DS_Store`` are left out. After the size or count limit of a mod there may be
    entries missing, and :func:`sparkc.planning.mods.build_mod` refuses what was read.

    Raises:
        SparkcError: a file cannot be read, or the file is no zip.
    """
    try:
        entries = list(_limited(_walk(path) if path.is_dir() else _unzip(path)))
    except OSError as error:
        raise SparkcError(
            f"cannot read {error.filename or path}: {error.strerror or error}",
            hint=f"the mod {path.name} needs every file in it: check their permissions",
        ) from error
    return sorted(entries, key=lambda entry: entry.path)


class _Budget:
    """What may still be read of one mod, in bytes; one byte past the limit shows that it was passed."""

    left = SIZE_LIMIT + 1

    def read(self, file: BinaryIO) -> bytes:
        data = file.read(self.left)
        self.left -= len(data)
        return data


def _limited(entries: Iterator[ModEntry]) -> Iterator[ModEntry]:
    for count, entry in enumerate(entries, start=1):
        yield entry
        if count > COUNT_LIMIT:
            return


def _walk(root: Path) -> Iterator[ModEntry]:
    budget = _Budget()
    for folder, folders, files in os.walk(root, onerror=_reraise):
        folders[:] = sorted(name for name in folders if name not in _BY_PRODUCTS)
        for name in sorted([*folders, *files]):
            if name in _BY_PRODUCTS:
                continue
            path = Path(folder, name)
            mode = path.lstat().st_mode
            kind = _kind(mode)
            data = b""
            if kind == "file":
                with path.open("rb") as file:
                    data = budget.read(file)
            yield ModEntry(path.relative_to(root).as_posix(), kind, stat.S_IMODE(mode), data)


def _unzip(path: Path) -> Iterator[ModEntry]:
    import zipfile  # 10 ms, and most mods are folders
    import zlib

    budget = _Budget()
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.orig_filename.removeprefix("./")
                if not name or _BY_PRODUCTS & set(name.split("/")):
                    continue
                # Unix tools keep st_mode in the upper half; other systems leave it 0.
                mode = info.external_attr >> 16
                kind = "directory" if name.endswith("/") else _kind(mode) if stat.S_IFMT(mode) else "file"
                data = b""
                if kind == "file":
                    with archive.open(info) as file:
                        data = budget.read(file)  # type: ignore[arg-type]  # IO[bytes] by the stubs
                yield ModEntry(name.removesuffix("/"), kind, stat.S_IMODE(mode), data)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        # RuntimeError: encrypted; NotImplementedError: a compression that Python lacks.
        raise SparkcError(
            f"cannot read the mod {path.name}: {error}", hint="pack it again as a plain zip, or use the folder"
        ) from error


def _kind(mode: int) -> Literal["file", "directory", "link", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def _reraise(error: OSError) -> None:
    raise error


def _is_mod(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".zip"


def _place(found: Path, project: Path) -> str:
    return found.relative_to(project).as_posix() if project in found.parents else "outside the project"
