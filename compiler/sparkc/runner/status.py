"""How the ranks of a bundle are, one row each, from a survey of the nodes. What cannot be seen is unknown, not down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.errors import SparkcError
from sparkc.record import dataclass, replace
from sparkc.runner.facts import Container, Holder, NodeFacts
from sparkc.runner.survey import Seen, Survey


@dataclass(frozen=True)
class Row:
    """One rank.

    ``state`` is Docker's, ``none`` without a container, ``unknown`` when the node cannot be looked at; ``problem``
    says why, or what is wrong. ``release`` is the group digest that is current on the node. ``age`` is how many
    seconds the container has been in its state. Memory is the node's, in bytes; where it is not known it is None.
    """

    rank: int | None
    node: str
    state: str
    release: str | None = None
    age: float | None = None
    health: str | None = None
    exit_code: int | None = None
    restarts: int | None = None
    memory_available: int | None = None
    memory_total: int | None = None
    image: str | None = None
    problem: str | None = None

    @property
    def serves(self) -> bool:
        """Whether the rank does its work, as far as its container tells."""
        return self.state == "running" and self.health in (None, "healthy") and self.problem is None


@dataclass(frozen=True)
class BundleStatus:
    """One bundle on its nodes. ``manifest`` is None where no node keeps a release of it.

    ``lock`` is who changes it at the moment, with the clock of the node that said so.
    """

    name: str
    manifest: Manifest | None
    rows: tuple[Row, ...]
    lock: tuple[Holder, float] | None = None

    @property
    def serves(self) -> bool:
        """Whether all ranks do their work."""
        return bool(self.rows) and all(row.serves for row in self.rows)

    @property
    def exists(self) -> bool:
        """Whether there is, or may be, a container of it."""
        return any(row.state != "none" for row in self.rows)


def bundle_status(survey: Survey, name: str, compiled: Manifest | None = None) -> BundleStatus:
    """Return how a bundle is.

    Args:
        survey: the nodes that were looked at.
        name: the bundle's name.
        compiled: the bundle as it lies in its folder, if it does: which ranks there ought to be when none are deployed.
    """
    deployed = survey.deployed.get(name, ())
    manifest = next(iter(deployed), compiled)
    expected = manifest.ranks if manifest is not None else ()
    rows = [_row(survey.of(rank), name, rank, deployed) for rank in expected]
    places = {survey.of(rank).target.login for rank in expected}
    others = (_other(seen, name, deployed) for login, seen in survey.nodes.items() if login not in places)
    rows += [row for row in others if row is not None]
    return BundleStatus(name, manifest, tuple(rows), _lock(survey.nodes.values()))


def running_bundles(survey: Survey) -> list[str]:
    """Return the names of all bundles that have a container on a node that was looked at."""
    facts = (seen.found for seen in survey.nodes.values() if not isinstance(seen.found, SparkcError))
    return sorted({container.bundle for found in facts for container in found.containers if container.bundle})


def _row(seen: Seen, name: str, rank: RankEntry, deployed: Sequence[Manifest]) -> Row:
    if isinstance(seen.found, SparkcError):
        return Row(rank.rank, rank.node, "unknown", problem=seen.found.message)
    container = seen.found.of(name)
    if container is not None:
        return _of_container(container, seen.found, rank.rank, rank.node, deployed)
    error = seen.found.docker_error
    if error is not None:
        return Row(rank.rank, rank.node, "unknown", problem=f"Docker does not answer: {error}")
    return _on_node(Row(rank.rank, rank.node, "none"), seen.found)


def _other(seen: Seen, name: str, deployed: Sequence[Manifest]) -> Row | None:
    """Return the row of a node that no manifest names, if the bundle is there, or may be."""
    node = seen.target.node
    if isinstance(seen.found, SparkcError):
        return None if deployed else Row(None, node, "unknown", problem=seen.found.message)
    container = seen.found.of(name)
    if container is None:
        return None
    number = container.labels.get("sparkc.rank", "")
    row = _of_container(container, seen.found, int(number) if number.isdecimal() else None, node, deployed)
    return replace(row, problem="is left over: the deployed group has no rank here") if deployed else row


def _of_container(
    container: Container, facts: NodeFacts, rank: int | None, node: str, deployed: Sequence[Manifest]
) -> Row:
    digest = container.rank_digest
    ours = (
        manifest for manifest in deployed for entry in manifest.ranks if (entry.rank, entry.digest) == (rank, digest)
    )
    manifest = next(ours, None)
    problem = "runs other files than its current release" if deployed and manifest is None else None
    if container.out_of_memory:
        problem = "reached its memory limit"
    ended = container.finished if container.state in ("exited", "dead") else container.started
    row = Row(
        rank,
        node,
        container.state,
        release=None if manifest is None else manifest.group_digest,
        age=None if ended is None else facts.clock - ended,
        health=container.health if container.state == "running" else None,
        exit_code=container.exit_code if container.state in ("exited", "dead") else None,
        restarts=container.restarts,
        image=container.image,
        problem=problem,
    )
    return _on_node(row, facts)


def _on_node(row: Row, facts: NodeFacts) -> Row:
    return replace(row, memory_available=facts.memory_available, memory_total=facts.memory_total)


def _lock(nodes: Iterable[Seen]) -> tuple[Holder, float] | None:
    facts = (seen.found for seen in nodes if not isinstance(seen.found, SparkcError))
    locks = ((found.releases.lock, found.clock) for found in facts)
    return next(((lock, clock) for lock, clock in locks if lock is not None and lock.alive), None)
