"""Bringing a lab down, whole or half made: nothing of it is left, and nothing else is touched."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from . import state
from .network import SWITCH
from .state import BASE, Facts
from .system import LabError, end_all, in_network, run, wait_until


def down(name: str) -> bool:
    """Remove the lab ``name``; returns whether there was one.

    Works from what the kernel knows (who is in the lab's namespaces, who sees its mounts), not from notes that a
    killed ``up`` may not have taken.
    """
    state.check_name(name)
    folder = BASE / name
    if not folder.exists() and not (state.DATA / name).exists():
        return False
    facts = state.load(name)
    if facts is None or not facts.ready:
        # What a killed ``up`` was about to start has started by then.
        time.sleep(0.2)
    namespaces = sorted((folder / "netns").iterdir()) if (folder / "netns").exists() else []
    for namespace in namespaces:
        if namespace.name != SWITCH and is_mounted(namespace):
            end_all(lambda namespace=namespace: in_network(namespace))  # type: ignore[misc]
    if facts is not None and Path(f"/sys/class/net/{facts.uplink}").exists():
        # The kernel takes a namespace apart when it likes; what we see of it is removed now.
        with suppress(LabError):
            run(["ip", "link", "delete", facts.uplink])
    for namespace in namespaces:
        while is_mounted(namespace):
            run(["umount", str(namespace)])
    _remove_cgroups(name)
    state.forget(name)
    return True


def is_mounted(path: Path) -> bool:
    """Tell whether a namespace is kept at ``path``: a killed ``up`` may have made the file and no more."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return f" {path} " in mounts


def is_up(facts: Facts) -> bool:
    """Tell whether a lab was brought up whole and all of its nodes are there."""
    return facts.ready and all(in_network(facts.network(name)) for name in facts.names)


def _remove_cgroups(name: str) -> None:
    """Remove the control groups that the lab's engines made, from the leaves up.

    The kernel keeps a group busy for a moment after its last process.
    """
    for top in _hierarchies():
        group = top / "sparkc-lab" / name
        if group.is_dir():
            wait_until(lambda group=group: _removed(group), f"the control group {group} to empty", 10)  # type: ignore[misc]
        with suppress(OSError):  # other labs are in it
            (top / "sparkc-lab").rmdir()


def _hierarchies() -> list[Path]:
    top = Path("/sys/fs/cgroup")
    return [top, *(path for path in top.iterdir() if path.is_dir() and path.is_mount())] if top.is_dir() else []


def _removed(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):
            Path(folder).rmdir()
    return not group.exists()
