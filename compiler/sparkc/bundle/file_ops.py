"""The file operations that writing and checking a bundle are made of, one small step each.

They go through an object so that a test can stop the process after every single step.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from sparkc.record import dataclass

# Temporary files and the journal; git and checks ignore names that start so.
PREFIX = ".sparkc-"
TEMPORARY = f"{PREFIX}tmp-"


@dataclass(frozen=True)
class Entry:
    """What lies at a path: a file with its permission bits, a directory, or anything else (a symlink, a socket)."""

    kind: Literal["file", "directory", "other"]
    mode: int


class FileOps:
    """The real file system. Errors are ``OSError``."""

    def entry(self, path: Path) -> Entry | None:
        """Return what lies at ``path`` without following a symlink, or None."""
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind: Literal["file", "directory", "other"] = "other"
        if stat.S_ISREG(found.st_mode):
            kind = "file"
        elif stat.S_ISDIR(found.st_mode):
            kind = "directory"
        return Entry(kind, stat.S_IMODE(found.st_mode))

    def read(self, path: Path) -> bytes:
        """Return a file's bytes."""
        return path.read_bytes()

    def names(self, directory: Path) -> list[str]:
        """Return the sorted names in a directory, none if it does not exist."""
        try:
            return sorted(os.listdir(directory))  # noqa: PTH208 - names are all that is needed
        except FileNotFoundError:
            return []

    def make_directory(self, path: Path) -> None:
        """Make a directory, parents included; one that exists is fine."""
        path.mkdir(parents=True, exist_ok=True)

    def write_new(self, path: Path, data: bytes, mode: int) -> None:
        """Write a file durably, with exactly ``mode`` whatever the umask."""
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())

    def replace(self, source: Path, target: Path) -> None:
        """Rename ``source`` over ``target``, at once."""
        source.replace(target)

    def set_mode(self, path: Path, mode: int) -> None:
        """Set a file's permission bits."""
        path.chmod(mode)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def remove_directory(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()

    def sync_directory(self, path: Path) -> None:
        """Make renames and removals in a directory durable."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def walk(fs: FileOps, directory: Path, below: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield relative path and entry of everything below ``directory`` that is no directory, sorted by name.

    Our own temporary files and journal are left out; symlinks are yielded, never followed.
    """
    for name in fs.names(directory):
        entry = fs.entry(directory / name)
        if entry is None or name.startswith(PREFIX):
            continue
        if entry.kind == "directory":
            yield from walk(fs, directory / name, f"{below}{name}/")
        else:
            yield f"{below}{name}", entry
