"""Where a bundle is at work, found out from the nodes: also after its folder or its inventory changed.

A node that is looked at may tell of others: the manifest of its current release names its whole group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkc.bundle.load import parse_manifest
from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.facts import NodeFacts
from sparkc.runner.look import look_at_all
from sparkc.runner.query import Query
from sparkc.runner.ssh import Ssh
from sparkc.runner.target import Target, rank_target


@dataclass(frozen=True)
class Seen:
    """One node that was looked at; ``found`` is an error where that failed: nothing is known of it then."""

    target: Target
    found: NodeFacts | SparkcError


@dataclass(frozen=True)
class Survey:
    """The nodes by :attr:`Target.login`, and the groups that are deployed there, by bundle name.

    A bundle has several groups after a deploy that was cut off between two nodes.
    """

    nodes: Mapping[str, Seen]
    deployed: Mapping[str, tuple[Manifest, ...]]

    @property
    def failed(self) -> dict[str, SparkcError]:
        """Why nodes could not be looked at, by login."""
        return {login: seen.found for login, seen in self.nodes.items() if isinstance(seen.found, SparkcError)}

    def of(self, rank: RankEntry) -> Seen:
        """Return the node of a deployed rank."""
        return self.nodes[rank_target(rank).login]


def start_of(manifest: Manifest) -> dict[Target, str]:
    """Return the nodes of a bundle, with the homes of their login users, for :func:`survey`."""
    return {rank_target(rank): rank.home for rank in manifest.ranks}


def survey(ssh: Ssh, start: Mapping[Target, str], bundle: str | None) -> Survey:
    """Look at the nodes of ``start`` (with their login users' homes), then at those that their manifests name.

    Args:
        ssh: the connections of the run.
        start: the nodes to begin with.
        bundle: the bundle of interest; None for all whose containers are found.
    """
    nodes: dict[str, Seen] = {}
    todo = dict(start)
    while True:
        queries = {target: (target, Query.bare(bundle, home)) for target, home in todo.items()}
        for target, found in look_at_all(ssh, queries).items():
            nodes[target.login] = Seen(target, found)
        deployed = _deployed(nodes.values(), bundle)
        ranks = [rank for manifests in deployed.values() for manifest in manifests for rank in manifest.ranks]
        todo = {rank_target(rank): rank.home for rank in ranks if rank_target(rank).login not in nodes}
        if not todo:
            return Survey(nodes, deployed)


def _deployed(nodes: Iterable[Seen], bundle: str | None) -> dict[str, tuple[Manifest, ...]]:
    found: dict[str, dict[str, Manifest]] = {}
    for seen in nodes:
        if isinstance(seen.found, SparkcError):
            continue
        texts = dict(seen.found.neighbours) if bundle is None else {bundle: seen.found.releases.manifest or b""}
        for name, text in texts.items():
            manifest = parse_manifest("bundle.json", text, Report()) if text else None
            if manifest is not None and manifest.name == name:
                found.setdefault(name, {}).setdefault(manifest.group_digest, manifest)
    return {name: tuple(manifests.values()) for name, manifests in sorted(found.items())}
