"""Everything that is checked on the nodes before a bundle is started, without changing anything.

All checks run on the facts of one look per node: what they find is complete, not the first fault of each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.errors import SparkcError
from sparkc.inventory.model import Inventory, Node
from sparkc.runner.checks_fabric import check_fabric
from sparkc.runner.checks_image import check_images
from sparkc.runner.checks_model import check_models, check_mounts
from sparkc.runner.checks_node import check_engines, check_node
from sparkc.runner.checks_occupied import check_occupied
from sparkc.runner.facts import NodeFacts
from sparkc.runner.findings import Finding, from_failure, in_order

# The environment of a rank, as its rank.env says it, by rank number.
Environments = Mapping[int, Mapping[str, str]]
_GID_INDEX = "NCCL_IB_GID_INDEX"


def preflight(
    manifest: Manifest,
    facts: Mapping[int, NodeFacts | SparkcError],
    environments: Environments | None = None,
    *,
    require_pinned: bool = False,
    replaced: Collection[str] = (),
) -> list[Finding]:
    """Return what is wrong with the nodes for this bundle, in rank order, then what concerns several nodes.

    Args:
        manifest: the bundle to start.
        facts: what each rank's node was found to be, or why it could not be looked at.
        environments: the rank.env of each rank; without it, what depends on a variable is not checked.
        require_pinned: an image without a digest is an error.
        replaced: other bundles that will be stopped first, and so are in nobody's way.
    """
    environments = environments or {}
    looked, findings = _looked(manifest.ranks, facts)
    for rank, found in looked:
        findings += check_node(rank, found)
        findings += check_mounts(rank, found)
        findings += check_occupied(manifest, rank, found, replaced)
    findings += check_engines(looked)
    findings += check_images(manifest, looked, environments, require_pinned=require_pinned)
    findings += check_models(manifest, looked, environments)
    # A single rank talks to nobody: the fabric may be in pieces.
    if len(manifest.ranks) > 1:
        findings += check_fabric(looked, manifest.ranks, _gid(manifest, environments))
    return in_order(findings, manifest.ranks)


def node_checks(
    ranks: Sequence[RankEntry], gid: int | None, facts: Mapping[int, NodeFacts | SparkcError]
) -> list[Finding]:
    """Return what is wrong with nodes whatever is to run on them; ``ranks`` are those of an inventory."""
    looked, findings = _looked(ranks, facts)
    for rank, found in looked:
        findings += check_node(rank, found)
    findings += check_engines(looked)
    if len(ranks) > 1:
        findings += check_fabric(looked, ranks, gid)
    return in_order(findings, ranks)


def inventory_ranks(inventory: Inventory) -> tuple[RankEntry, ...]:
    """Return the nodes of an inventory as ranks without a bundle: nothing mounted, nothing listening."""
    return tuple(_rank(position, node) for position, node in enumerate(inventory.nodes))


def read_environment(text: str) -> dict[str, str]:
    """Return the variables of a rank.env: literal to the end of the line."""
    lines = (line.partition("=") for line in text.split("\n") if line and not line.startswith("#"))
    return {key: value for key, equals, value in lines if equals}


def _looked(
    ranks: Sequence[RankEntry], facts: Mapping[int, NodeFacts | SparkcError]
) -> tuple[list[tuple[RankEntry, NodeFacts]], list[Finding]]:
    looked, failed = [], []
    for rank in ranks:
        found = facts[rank.rank]
        if isinstance(found, SparkcError):
            failed.append(from_failure(found))
        else:
            looked.append((rank, found))
    return looked, failed


def _gid(manifest: Manifest, environments: Environments) -> int | None:
    """Return the pinned GID index: the inventory's, else what every rank's environment says."""
    if manifest.gid is not None:
        return manifest.gid
    said = {environment.get(_GID_INDEX, "") for environment in environments.values()}
    text = said.pop() if len(said) == 1 else ""
    return int(text) if text.isascii() and text.isdecimal() else None


def _rank(position: int, node: Node) -> RankEntry:
    return RankEntry(
        rank=position,
        node=node.name.value,
        role="worker",
        folder="",
        ssh=node.ssh.value,
        user=node.user.value,
        home=node.home.value,
        address=node.address.value if node.address else None,
        transfer=node.transfer.value if node.transfer else None,
        interface=node.interface.value if node.interface else None,
        hcas=tuple(hca.value for hca in node.hcas),
        ports=(),
        mounts=(),
        health=False,
        deep_probe=None,
        wave=0,
        digest="",
    )
