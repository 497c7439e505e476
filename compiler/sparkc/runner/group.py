"""The nodes of one bundle as one unit: its ranks with their connections, in rank order, and its start waves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.errors import SparkcError
from sparkc.record import dataclass, field
from sparkc.runner.layout import Layout, layout
from sparkc.runner.node_script import Reply
from sparkc.runner.processes import Processes
from sparkc.runner.ssh import Connection, Ssh
from sparkc.runner.target import rank_target


@dataclass(frozen=True)
class Member:
    """One rank whose node is connected."""

    manifest: Manifest
    rank: RankEntry
    connection: Connection

    @property
    def number(self) -> int:
        """The rank's number."""
        return self.rank.rank

    @property
    def node(self) -> str:
        """The node's name."""
        return self.rank.node

    @property
    def layout(self) -> Layout:
        """Where the bundle lies on the node."""
        return layout(self.manifest, self.rank)

    @property
    def folder(self) -> str:
        """The rank's folder in the release."""
        return self.layout.rank_folder(self.manifest.group_digest, self.rank.folder)


@dataclass(frozen=True)
class Group:
    """All ranks of a bundle. ``unreached`` tells why the others are no members, by rank number."""

    manifest: Manifest
    members: tuple[Member, ...]
    processes: Processes
    unreached: Mapping[int, SparkcError] = field(default_factory=dict)

    @property
    def waves(self) -> tuple[tuple[Member, ...], ...]:
        """The members that start together, in starting order."""
        return tuple(tuple(member for member in self.members if member.number in wave) for wave in self.manifest.waves)

    def each(
        self, ask: Callable[[Member], Reply], members: Iterable[Member] | None = None
    ) -> dict[int, Reply | SparkcError]:
        """Return what ``ask`` gives for all members (or only ``members``), asked at once, by rank number."""
        chosen = self.members if members is None else members
        return self.processes.fan_out({member.number: partial(ask, member) for member in chosen})


def connect(ssh: Ssh, manifest: Manifest, failed: Mapping[str, SparkcError] | None = None) -> Group:
    """Return the bundle's group, with every node connected that can be.

    ``failed`` tells, by :attr:`Target.login`, of nodes that are known to be out of reach and not tried again.
    """
    failed = failed or {}
    targets = {rank.rank: rank_target(rank) for rank in manifest.ranks}
    connections = ssh.connect_all(target for target in targets.values() if target.login not in failed)
    members = []
    unreached = {}
    for rank in manifest.ranks:
        target = targets[rank.rank]
        connection = failed.get(target.login) or connections[target]
        if isinstance(connection, SparkcError):
            unreached[rank.rank] = connection
        else:
            members.append(Member(manifest, rank, connection))
    return Group(manifest, tuple(members), ssh.processes, unreached)
