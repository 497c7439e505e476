"""Where a lab keeps its things, and the facts of one lab, from which every name and address is derived."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from .system import LabError, run

# The links of a node: its interface names on a DGX Spark.
INTERFACES = {"mgmt": "enP7s7", "rail-a": "enp1s0f0np0", "rail-b": "enP2p1s0f0np0"}
LINKS = tuple(INTERFACES)
HCAS = {"rail-a": "rocep1s0f0", "rail-b": "roceP2p1s0f0"}


def _writable(*candidates: str) -> Path:
    for candidate in candidates:
        if os.access(Path(candidate).parent, os.W_OK):
            return Path(candidate)
    return Path(candidates[-1])


BASE = _writable("/run/sparkc-lab", "/tmp/sparkc-lab")
DATA = _writable("/var/lib/sparkc-lab", "/tmp/sparkc-lab-data")  # on disk: images and homes are too big for a tmpfs
CACHE = _writable("/var/cache/sparkc-lab", "/tmp/sparkc-lab-cache")


@dataclass(frozen=True)
class Facts:
    """What a lab is; kept in its state folder before anything else is made."""

    name: str
    count: int
    subnet: int  # the third byte of 10.77.x.0/24
    mtu: int = 9000  # of the rails
    ready: bool = False

    @property
    def folder(self) -> Path:
        """The state folder."""
        return BASE / self.name

    @property
    def data(self) -> Path:
        """The folder for what is big."""
        return DATA / self.name

    @property
    def uplink(self) -> str:
        """The one interface that the lab has in the root namespace; at most 15 characters."""
        return f"sparklab{self.subnet}"

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names: spark-1 and so on."""
        return tuple(f"spark-{index + 1}" for index in range(self.count))

    def network(self, name: str) -> Path:
        """Return where the network namespace of a node, or of the "switch", is kept."""
        return self.folder / "netns" / name

    @property
    def control_address(self) -> str:
        """The control machine's address on the management network."""
        return f"10.77.{self.subnet}.2"

    def address(self, index: int, link: str) -> str:
        """Return the address of a node (counted from 0) on a link; the rails are alike in every lab."""
        network = {"mgmt": f"10.77.{self.subnet}", "rail-a": "192.168.177", "rail-b": "192.168.178"}[link]
        return f"{network}.{11 + index}"

    def address6(self, index: int) -> str:
        """Return the IPv6 address of a node on the management network."""
        return self.address6_of(self.address(index, "mgmt"))

    def address6_of(self, address: str) -> str:
        """Return the IPv6 address beside an IPv4 address of the management network: it ends with the same digits."""
        return f"fd77:0:0:{self.subnet:x}::{address.rpartition('.')[2]}"

    def save(self) -> None:
        """Write the facts to the state folder."""
        path = self.folder / "lab.json"
        path.with_suffix(".new").write_text(json.dumps(asdict(self)), encoding="utf-8")
        path.with_suffix(".new").replace(path)


def check_name(name: str) -> None:
    """Refuse a lab's name that could not be a folder's."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,40}", name):
        raise LabError(f"a lab's name has lowercase letters, digits, '-' and '_': {name!r}")


def load(name: str) -> Facts | None:
    """Return the facts of the lab ``name``, or None when there is none, or none that got as far as having facts."""
    check_name(name)
    try:
        return Facts(**json.loads((BASE / name / "lab.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def labs() -> list[str]:
    """Return the names of the labs that have a state folder, up or left over."""
    return sorted(entry.name for entry in BASE.iterdir() if entry.is_dir()) if BASE.is_dir() else []


@contextmanager
def lock() -> Iterator[None]:
    """Hold the lock of all labs: choosing a subnet and removing folders is done by one process at a time.

    The folder itself is locked, so that no lock file is left behind; it may vanish while we wait for it.
    """
    while True:
        BASE.mkdir(mode=0o755, parents=True, exist_ok=True)
        try:
            handle = os.open(BASE, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if BASE.exists() and os.path.samestat(os.fstat(handle), BASE.stat()):
                yield
                return
        finally:
            os.close(handle)


def claim(name: str, count: int, mtu: int) -> Facts:
    """Make the state folder of a new lab, with a subnet that no other lab and no interface has."""
    check_name(name)
    with lock():
        taken = {facts.subnet for other in labs() if (facts := load(other))}
        present = set(re.findall(r"inet 10\.77\.(\d+)\.", run(["ip", "-4", "addr"])))
        taken |= {int(number) for number in present}
        # The same name has the same addresses each time, unless another lab has them.
        first = zlib.crc32(name.encode()) % 256
        for step in range(256):
            if (subnet := (first + step) % 256) not in taken:
                facts = Facts(name, count, subnet, mtu)
                for folder in (facts.folder / "netns", facts.folder / "nodes", facts.folder / "control", facts.data):
                    folder.mkdir(parents=True, exist_ok=True)
                facts.save()
                return facts
    raise LabError("all subnets 10.77.0.0/24 to 10.77.255.0/24 are taken; bring labs down first")


def forget(name: str) -> None:
    """Remove the folders of a lab, and those of all labs when it was the last one."""
    with lock():
        for folder in (DATA / name, BASE / name):
            if folder.exists():
                shutil.rmtree(folder)
        for parent in (BASE, DATA):
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
