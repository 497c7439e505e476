"""Checks of what is on the nodes already: containers of others under our name, other bundles, ports that are taken."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.runner.facts import Container, Listener, NodeFacts
from sparkc.runner.findings import Finding, on
from sparkc.runner.parse_releases import rank_ports

_PROJECT = "com.docker.compose.project"
_ANY = range(65536)
# States in which a container holds its ports and its memory.
UP = ("running", "restarting", "paused", "removing")


def check_occupied(
    manifest: Manifest, rank: RankEntry, facts: NodeFacts, replaced: Collection[str]
) -> Iterator[Finding]:
    """Yield what stands in the way on a rank's node. Bundles in ``replaced`` are going to be stopped before."""
    yield from _names(manifest, rank, facts)
    ours = {manifest.name, *replaced}
    others = [c for c in facts.containers if c.state in UP and c.bundle is not None and c.bundle not in ours]
    for other in others:
        yield Finding(
            "warning",
            rank.node,
            f"the bundle {other.bundle} runs here as well: both take memory and the GPU",
            _remedy(manifest, other),
        )
    yield from _ports(manifest, rank, facts, ours)


def _names(manifest: Manifest, rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    for container in facts.containers:
        if container.bundle == manifest.name:
            continue
        if container.name == manifest.name:
            yield Finding(
                "error",
                rank.node,
                f"a container named {container.name} is there that sparkc did not start (image {container.image}, "
                f"{container.state})",
                f"if nobody needs it: {on(rank, 'docker', 'rm', '--force', container.name)}; or compile with --name",
            )
        elif container.labels.get(_PROJECT) == manifest.name:
            yield Finding(
                "error",
                rank.node,
                f"the container {container.name} of somebody else belongs to a Compose project named {manifest.name}",
                f"if nobody needs it: {on(rank, 'docker', 'rm', '--force', container.name)}; or compile with --name",
            )


def _ports(manifest: Manifest, rank: RankEntry, facts: NodeFacts, ours: Collection[str]) -> Iterator[Finding]:
    """Yield the ports that are held by something that this deploy does not stop.

    What listens in a container on the host's network is root's, and only root may know which container that is. The
    manifest that a bundle was started from tells it to anybody else.
    """
    running = [container for container in facts.containers if container.state in UP]
    known = dict(facts.releases.ports) | {rank.digest: tuple(port["number"] for port in rank.ports)}
    for neighbour in facts.neighbours.values():
        known |= dict(rank_ports(neighbour.decode()))
    # Of one of ours that nobody knows the ports of, say after its release was removed by hand, it is enough that it
    # will be stopped.
    held = {
        container.id: known.get(container.rank_digest or "", _ANY if container.bundle in ours else ())
        for container in running
        if container.host_network
    }
    for port in rank.ports:
        number, listener = port["number"], facts.listeners.get(port["number"])
        holder = _holder(number, listener, running, held)
        if holder is not None:
            if holder.bundle not in ours:
                yield _taken(manifest, rank, port, holder)
        elif listener is not None:
            yield _unknown(rank, port, listener, running)


def _holder(
    number: int, listener: Listener | None, running: list[Container], held: Mapping[str, Collection[int]]
) -> Container | None:
    """Return the container that holds a port, as far as it can be known."""
    if listener is not None and listener.container is not None:
        return next((container for container in running if container.id == listener.container), None)
    publishing = next((container for container in running if number in container.published), None)
    if publishing is not None or (listener is not None and listener.process is not None):
        return publishing
    # A bundle that is still loading holds its ports before it listens.
    return next((container for container in running if number in held.get(container.id, ())), None)


def _taken(manifest: Manifest, rank: RankEntry, port: Mapping[str, object], holder: Container) -> Finding:
    if holder.bundle is not None:
        what, hint = f"the bundle {holder.bundle}", _remedy(manifest, holder)
    else:
        what = f"the container {holder.name} (image {holder.image})"
        hint = f"{on(rank, 'docker', 'stop', holder.name)}, or compile with another port"
    return Finding("error", rank.node, f"port {port['number']} ({port['name']}) is held by {what}", hint)


def _unknown(rank: RankEntry, port: Mapping[str, object], listener: Listener, running: list[Container]) -> Finding:
    if listener.process is not None:
        by = f"by {listener.process} (process {listener.pid})"
    else:
        suspects = [container.name for container in running if container.host_network]
        by = f"by a process of user {listener.uid}" if listener.uid else "by a process of root"
        if suspects and not listener.uid:
            by += f", perhaps in a container on the host's network: {', '.join(suspects)}"
    show = on(rank, "sudo", "ss", "-ltnp", "sport", "=", f":{port['number']}", terminal=True)
    return Finding(
        "error",
        rank.node,
        f"port {port['number']} ({port['name']}) is held {by}",
        f"{show} shows it; stop it, or compile with another port",
    )


def _remedy(manifest: Manifest, other: Container) -> str:
    return f"sparkc down {other.bundle}, or sparkc deploy {manifest.name} --replace {other.bundle}"
