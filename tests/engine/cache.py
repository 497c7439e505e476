"""Where what is slow to make is kept between runs: the engine's Python environment and the image's files."""
# ruff: noqa: T201 - it takes minutes, and whoever waits wants to know for what

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

# Nodes of the lab see the machine's /var, and their login user may look into it; /home, /tmp and /run they have
# themselves, and /root is closed to the user.
FOLDER = Path(os.environ.get("SPARKC_ENGINE_CACHE", "/var/cache/sparkc-lab-engine"))


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """Return ``FOLDER/name``, which ``make`` makes when it is not there. What was not finished is made again."""
    path, finished = FOLDER / name, FOLDER / f"{name}.finished"
    FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            start = time.monotonic()
            print(f"making {path} …", file=sys.stderr, flush=True)
            if path.is_dir():
                shutil.rmtree(path)
            # Made in place and not renamed: programs of a Python environment name the folder that they are in.
            make(path)
            finished.touch()
            print(f"made {path} in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return path
