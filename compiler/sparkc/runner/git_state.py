"""Whether a bundle is what was reviewed: its bytes against those that git has of it in HEAD.

Git is asked for the names and hashes of HEAD alone, and the files are hashed here. `git status` would run what a
repository's own configuration names: filters, a file system monitor.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sparkc.bundle.file_ops import PREFIX, FileOps, walk
from sparkc.diagnostics.escape import printable, printable_lines
from sparkc.errors import SparkcError
from sparkc.record import dataclass

# Nothing is written, and nothing fetched: a partial clone would go to its remote for what is missing.
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
_ENVIRONMENT = {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}


@dataclass(frozen=True)
class GitState:
    """``differs`` has a line for each file that is not as in HEAD; ``note`` is why that is not known, if so."""

    differs: tuple[str, ...] = ()
    note: str | None = None


def git_state(folder: Path) -> GitState:
    """Return how the bundle in ``folder`` differs from its repository's HEAD.

    Raises:
        SparkcError: git failed for another reason than that there is no repository, or a file cannot be read.
    """
    command = [*_GIT, "-C", str(folder), "ls-tree", "-r", "-z", "HEAD", "--", "."]
    # A variable of a hook or a shell may point git to another repository.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | _ENVIRONMENT
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
    except FileNotFoundError:
        return GitState(note="there is no git here, so it is not known whether this is what was reviewed")
    said = done.stderr.decode(errors="replace")
    if "not a git repository" in said:
        return GitState(note=f"{folder.name} is in no git repository, so there is nothing to compare it with")
    # A repository without a commit has no HEAD.
    if done.returncode != 0 and "Not a valid object name HEAD" not in said:
        raise SparkcError(
            "git cannot tell whether the bundle is as in HEAD",
            command=f"git -C {folder} ls-tree HEAD",
            exit_code=done.returncode,
            output="\n".join(printable_lines(said)),
            hint="mend that, or deploy with --allow-dirty",
        )
    try:
        return GitState(differs=tuple(map(printable, _differences(folder, _committed(done.stdout)))))
    except OSError as error:
        raise SparkcError(f"cannot read {error.filename or folder}: {error.strerror or error}") from error


def _committed(listing: bytes) -> dict[str, str]:
    """Return the hashes of HEAD's files by path, from `ls-tree -z`: mode, kind, hash, tab, path."""
    entries = (entry.partition("\t") for entry in os.fsdecode(listing).split("\0") if entry)
    return {path: facts.rpartition(" ")[2] for facts, _, path in entries if not path.startswith(PREFIX)}


def _differences(folder: Path, committed: dict[str, str]) -> Iterator[str]:
    fs = FileOps()
    left = dict(committed)
    for path, entry in walk(fs, folder):
        known = left.pop(path, None)
        if known is None:
            yield f"{path} is not committed"
        elif entry.kind != "file" or _blob_hash(fs.read(folder / path), known) != known:
            yield f"{path} differs from the commit"
    yield from (f"{path} is committed, but not here" for path in left)


def _blob_hash(data: bytes, like: str) -> str:
    """Return git's name for a file's bytes, by the algorithm of the repository that made the hash ``like``."""
    algorithm = "sha256" if len(like) == 64 else "sha1"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
