"""The inventory: which machines there are and how they are wired."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.reading.source import Source
from sparkc.record import dataclass, field
from sparkc.traced import Traced


@dataclass(frozen=True)
class Node:
    """One machine.

    ``ssh`` is a host, an alias or ``user@host:port``. ``address`` is on the fabric (rendezvous), ``transfer``
    an address for copies. ``home`` is already resolved: the given one, else ``/home/<user>`` (``/root`` for root).
    ``hca_addresses`` maps an HCA to its interface's ``address/prefix length``, where stated. ``memory`` is in GiB.
    ``env`` maps a key to its value, or to None for "absent".
    """

    name: Traced[str]
    ssh: Traced[str]
    user: Traced[str]
    home: Traced[str]
    address: Traced[str] | None = None
    transfer: Traced[str] | None = None
    interface: Traced[str] | None = None
    hcas: tuple[Traced[str], ...] = ()
    hca_addresses: Mapping[str, Traced[str]] = field(default_factory=dict)
    gpus: Traced[int] | None = None
    memory: Traced[float] | None = None
    env: Mapping[str, Traced[str | None]] = field(default_factory=dict)
    caches: Mapping[str, Traced[str]] = field(default_factory=dict)
    limits: Mapping[str, Traced[int]] = field(default_factory=dict)

    @property
    def gpu_count(self) -> int:
        """GPUs on this node; a Spark has one."""
        return self.gpus.value if self.gpus is not None else 1


@dataclass(frozen=True)
class Link:
    """A cable between two nodes, by their names; addresses and ports are those of its two ends, where they are known.

    Port 0 is the one next to the RJ45 socket.
    """

    a: Traced[str]
    b: Traced[str]
    a_address: Traced[str] | None = None
    b_address: Traced[str] | None = None
    a_port: Traced[int] | None = None
    b_port: Traced[int] | None = None


@dataclass(frozen=True)
class Inventory:
    """All nodes in the order written; rank 0 is the first one chosen.

    ``gid`` is the pinned RoCE GID index, or None for ``auto`` (the key stays unset).
    ``kind``: "file", "example" (the built-in eight Sparks) or "ad-hoc" (made from ``--nodes 10.0.0.1,…``).
    ``port`` is for recipes that state none, ``master_port`` where ranks meet unless ``--master-port`` says another.
    """

    name: str
    kind: str
    source: Source
    topology: Traced[str]
    nodes: tuple[Node, ...]
    gid: Traced[int] | None = None
    port: Traced[int] | None = None
    env: Mapping[str, Traced[str | None]] = field(default_factory=dict)
    caches: Mapping[str, Traced[str]] = field(default_factory=dict)
    limits: Mapping[str, Traced[int]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    master_port: Traced[int] | None = None
