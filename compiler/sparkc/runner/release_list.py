"""The releases of a bundle as the nodes keep them, joined over all nodes."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.facts import NodeFacts
from sparkc.runner.layout import Layout, root_layout
from sparkc.runner.survey import Survey
from sparkc.runner.target import Target


@dataclass(frozen=True)
class KeptRelease:
    """One release: the names of the nodes that keep it, where it is current or previous, and files that changed there.

    ``age`` is the seconds since it was last started somewhere, by the clock of the node; None if it never was.
    """

    digest: str
    age: float | None
    nodes: tuple[str, ...]
    current: tuple[str, ...]
    previous: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]


def kept_releases(facts: Mapping[str, NodeFacts]) -> tuple[KeptRelease, ...]:
    """Return all releases on the nodes, by node name, the one that was started last first."""
    digests = {release.digest for node in facts.values() for release in node.releases.kept}
    return tuple(sorted((_joined(digest, facts) for digest in digests), key=_order))


def looked_at(found: Survey) -> tuple[dict[Target, NodeFacts], tuple[SparkcError, ...]]:
    """Return the nodes of a survey that could be looked at, and why the others could not."""
    seen = found.nodes.values()
    looked = {node.target: node.found for node in seen if isinstance(node.found, NodeFacts)}
    return looked, tuple(node.found for node in seen if isinstance(node.found, SparkcError))


def layout_on(facts: NodeFacts, bundle: str) -> Layout:
    """Return where a bundle lies on a node that was looked at."""
    return Layout(facts.root.source, bundle) if facts.root is not None else root_layout(facts.home, bundle)


def _joined(digest: str, facts: Mapping[str, NodeFacts]) -> KeptRelease:
    kept = {name: found for name, node in facts.items() if (found := node.releases.find(digest)) is not None}
    ages = [facts[name].clock - release.deployed for name, release in kept.items() if release.deployed]
    return KeptRelease(
        digest=digest,
        age=min(ages, default=None),
        nodes=tuple(kept),
        current=tuple(name for name in kept if facts[name].releases.current == digest),
        previous=tuple(name for name in kept if facts[name].releases.previous == digest),
        changed={name: release.changed for name, release in kept.items() if release.changed},
    )


def _order(release: KeptRelease) -> tuple[bool, float, str]:
    return release.age is None, release.age or 0, release.digest
