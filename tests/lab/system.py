"""Programs and processes of this machine: running tools, finding and ending what lives in a namespace."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

# What a service of a Debian machine gets; the caller's PATH may hide the machine's tools behind others.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEM_ENV = {"PATH": SYSTEM_PATH, "HOME": "/root", "LANG": "C.UTF-8"}


class LabError(Exception):
    """The lab cannot do what was asked; the message is for the person who asked."""


def run(argv: Sequence[str], stdin: str | None = None, timeout: float = 60) -> str:
    """Run a tool of the machine and return its standard output; LabError with its words when it fails."""
    done = subprocess.run(  # its standard error is in the message
        argv, input=stdin, env=SYSTEM_ENV, capture_output=True, text=True, timeout=timeout, check=False
    )
    if done.returncode:
        raise LabError(f"{' '.join(argv)} failed ({done.returncode}): {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def wait_until(condition: Callable[[], bool], what: str, seconds: float, pause: float = 0.02) -> None:
    """Wait until ``condition`` holds; LabError that names ``what`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(pause)


def processes() -> Iterator[int]:
    """Yield the ids of all processes."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)


def in_network(namespace: Path) -> list[int]:
    """Return the processes in a network namespace that is kept at ``namespace``.

    The kernel's own record of what the lab started: nothing else enters a namespace that the lab made. Unlike
    recorded ids it cannot be stale, nor miss what a killed ``up`` started last.
    """
    try:
        wanted = namespace.stat()
    except OSError:
        return []
    found = []
    for pid in processes():
        with contextlib.suppress(OSError):  # it ended meanwhile
            status = Path(f"/proc/{pid}/ns/net").stat()
            if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
                found.append(pid)
    return found


def first_process(namespace: Path) -> int | None:
    """Return process 1 of the node whose network namespace is kept at ``namespace``, by its id out here."""
    for pid in in_network(namespace):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
                # The id in every process namespace from ours to its own, as in "NSpid: 4711 1".
                if line.startswith("NSpid:") and line.split()[2:] == ["1"]:
                    return pid
    return None


def end_all(find: Callable[[], list[int]], seconds: float = 10) -> None:
    """Kill what ``find`` returns until it returns nothing."""
    deadline = time.monotonic() + seconds
    while pids := find():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise LabError(f"processes do not end: {pids}")
        time.sleep(0.02)
