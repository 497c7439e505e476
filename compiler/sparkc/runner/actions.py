"""What a deploy would do, rank by rank: from what runs and what a bundle says. A group is one unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from sparkc.bundle.load import parse_manifest
from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.record import dataclass, replace
from sparkc.runner.facts import Container, NodeFacts

Kind = Literal["none", "wait", "start", "replace", "stop", "unknown"]


@dataclass(frozen=True)
class Action:
    """What would happen to one rank.

    ``kind``: none (it serves what it should), wait (it is still loading that), start, replace, stop (its node is no
    longer part of the bundle), unknown (the node cannot be looked at). ``now`` and ``then`` are what runs before and
    after, for a table; ``why`` is the reason, "" for none.
    """

    rank: int
    node: str
    kind: Kind
    why: str
    now: str
    then: str


def decide(
    manifest: Manifest, facts: Mapping[int, NodeFacts | SparkcError], secrets_sha256: str | None = None
) -> tuple[Action, ...]:
    """Return what a deploy of ``manifest`` would do, by rank, then for nodes that only the running group has.

    Nothing is done where every rank serves (or loads) what it should, from files that are intact, with the secrets of
    ``secrets_sha256``; None where those are not known, and so not compared. Otherwise all ranks start anew together:
    a rank that restarts alone cannot rejoin its group.
    """
    actions = [_alone(manifest, rank, facts[rank.rank], secrets_sha256) for rank in manifest.ranks]
    stops = [_stop(rank) for rank in leftovers(manifest, facts)]
    busy = [action for action in actions if action.kind in ("start", "replace")]
    first = next(iter(busy or stops), None)
    if first is not None:
        reason = f"{first.node} is not as it should be" if busy else f"{first.node} leaves the group"
        actions = [
            replace(action, kind="replace", why=f"{reason}, and a group starts as a whole")
            if action.kind in ("none", "wait")
            else action
            for action in actions
        ]
    return (*actions, *stops)


def leftovers(manifest: Manifest, facts: Mapping[int, NodeFacts | SparkcError]) -> tuple[RankEntry, ...]:
    """Return the ranks of what is deployed now, as the nodes tell it, whose nodes ``manifest`` does not have."""
    kept = {(rank.ssh, rank.user) for rank in manifest.ranks}
    left: dict[tuple[str, str], RankEntry] = {}
    for old in deployed(facts):
        for rank in old.ranks:
            if (rank.ssh, rank.user) not in kept:
                left.setdefault((rank.ssh, rank.user), rank)
    return tuple(sorted(left.values(), key=lambda rank: rank.rank))


def deployed(facts: Mapping[int, NodeFacts | SparkcError]) -> tuple[Manifest, ...]:
    """Return the manifests of the current releases on the nodes, each once: several after a deploy that was cut off."""
    found: dict[str, Manifest] = {}
    for node in facts.values():
        if isinstance(node, NodeFacts) and node.releases.manifest is not None:
            manifest = parse_manifest("bundle.json", node.releases.manifest, Report())
            if manifest is not None:
                found.setdefault(manifest.group_digest, manifest)
    return tuple(found.values())


def unchanged(actions: Iterable[Action]) -> bool:
    """Return whether a deploy has nothing to do at all."""
    return all(action.kind == "none" for action in actions)


def describe(container: Container | None, clock: float) -> str:
    """Return what runs on a node, for a table; ``clock`` is the node's."""
    if container is None:
        return "nothing"
    digest = (container.rank_digest or "")[:12] or "no digest"
    if container.state == "running":
        since = "" if container.started is None else f" for {age(clock - container.started)}"
        health = f", {container.health}" if container.health is not None else ""
        return f"{digest} running{since}{health}"
    code = f" with code {container.exit_code}" if container.state in ("exited", "dead") else ""
    memory = ", out of memory" if container.out_of_memory else ""
    return f"{digest} {container.state}{code}{memory}"


def age(seconds: float) -> str:
    """Return a duration in its two largest units' worth, such as ``3 h``."""
    seconds = max(0, seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _alone(manifest: Manifest, rank: RankEntry, facts: NodeFacts | SparkcError, secrets_sha256: str | None) -> Action:
    """Return what a rank needs if the others did not matter."""
    then = rank.digest[:12]
    if isinstance(facts, SparkcError):
        return Action(rank.rank, rank.node, "unknown", facts.message, "unknown", then)
    if facts.docker_error is not None:
        return Action(rank.rank, rank.node, "unknown", f"Docker gave nothing: {facts.docker_error}", "unknown", then)
    container = facts.of(manifest.name)
    kind, why = _needs(manifest, rank, facts, container, secrets_sha256)
    return Action(rank.rank, rank.node, kind, why, describe(container, facts.clock), then)


def _needs(
    manifest: Manifest, rank: RankEntry, facts: NodeFacts, container: Container | None, secrets_sha256: str | None
) -> tuple[Kind, str]:
    if container is None:
        return "start", "no container of the bundle is there"
    why = _wrong(container) or _stale(manifest, rank, facts, container, secrets_sha256)
    if why:
        return "replace", why
    if container.health == "starting":
        return "wait", "it is still loading"
    if facts.releases.current != manifest.group_digest:
        return "wait", "its deploy was not finished"
    return "none", ""


def _wrong(container: Container) -> str:
    """Return why a container does not serve, "" where it does or may still come to it."""
    if container.state != "running":
        return f"its container is {container.state}"
    if container.restarts:
        return "its container restarted"
    return "its container is unhealthy" if container.health == "unhealthy" else ""


def _stale(
    manifest: Manifest, rank: RankEntry, facts: NodeFacts, container: Container, secrets_sha256: str | None
) -> str:
    """Return why a running container is not what the bundle says, "" where it is."""
    if container.rank_digest != rank.digest:
        return "it runs other files"
    if container.labels.get("sparkc.rank") != str(rank.rank):
        return f"it runs as rank {container.labels.get('sparkc.rank')}"
    release = facts.releases.find(manifest.group_digest)
    if release is None:
        return "its release is not there any more"
    if release.changed:
        return f"files of the release were changed: {', '.join(release.changed[:3])}"
    if secrets_sha256 is not None and release.secrets_sha256 != secrets_sha256:
        return "the secrets are others"
    return ""


def _stop(rank: RankEntry) -> Action:
    return Action(rank.rank, rank.node, "stop", "the bundle has no rank here any more", "not looked at", "nothing")
