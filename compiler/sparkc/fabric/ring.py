"""Four or more Sparks, each cabled to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.fabric.cables import REQUIRED, around, check_cabled, links_span, neighbours, required_environment
from sparkc.fabric.rules import Rules
from sparkc.fabric.wiring import WIRING_KEYS, check_cluster, cluster_environment, solo_environment
from sparkc.inventory.model import Inventory, Node
from sparkc.traced import Traced

_SMALLEST = 4  # three nodes with two ports each are a mesh


class Ring:
    """Nodes whose cables form one closed ring.

    Ranks meet over the management network, as in a :class:`~sparkc.fabric.mesh.Mesh`, but data can move only from
    neighbour to neighbour. So a bundle is the whole ring in ring order, two neighbours, or one node; and it is
    tensor parallel only, without Ray, as spark-vllm-docker has it for rings.
    Sets, per node: what a mesh sets, and ``NCCL_ALGO=Ring``; refuses contrary values. Requires: ``links``.
    """

    name = "ring"
    wiring_keys = WIRING_KEYS
    rules = Rules(
        required={**REQUIRED, "NCCL_ALGO": "Ring"},
        tensor_parallel_only=True,
        refused_engines=frozenset({"vllm-ray"}),
    )

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report links that are no ring, ranks that do not follow it, and what the chosen nodes lack."""
        if len(nodes) < 2:
            return
        if _is_ring(inventory, report):
            _check_choice(inventory, nodes, report)
        check_cluster(inventory, nodes, report)
        check_cabled(inventory, nodes, report)

    def environment(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> Mapping[str, Traced[str | None]]:
        """Return the variables of one rank."""
        if len(nodes) == 1:
            return solo_environment()
        return {**cluster_environment(node, inventory), **required_environment(self.name, self.rules.required)}


def _is_ring(inventory: Inventory, report: Report) -> bool:
    """Report, with what is wrong, an inventory whose links are not one closed ring; return whether they are."""
    names = [node.name.value for node in inventory.nodes]
    if len(names) < _SMALLEST:
        report.error(
            "SPK402",
            f"topology 'ring' is four or more nodes, but the inventory has {len(names)}",
            inventory.topology.origin.span,
            hint="set `topology: mesh` for three nodes, `pair` for two",
        )
        return False
    found = neighbours(inventory)
    wrong = [f"{name} has {len(ends)} neighbour(s)" for name, ends in found.items() if len(ends) != 2]
    if not inventory.links:
        problem = "the inventory has no links"
    elif wrong:
        problem = "; ".join(wrong)
    elif len(inventory.links) != len(names):
        problem = f"{len(names)} nodes have {len(inventory.links)} links"
    elif len(first := around(names[0], min(found[names[0]]), found)) < len(names):
        problem = f"{', '.join(first)} are a ring of their own"
    else:
        return True
    example = ", ".join(f"{{a: {a}, b: {b}}}" for a, b in zip(names, [*names[1:], names[0]], strict=True))
    report.error(
        "SPK407",
        f"topology 'ring' is one closed ring of links, but {problem}",
        links_span(inventory),
        hint=f"list each cable once, as in `links: [{example}]`",
    )
    return False


def _check_choice(inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
    """Report chosen nodes that are neither the whole ring in its order nor two neighbours."""
    names = [node.name.value for node in nodes]
    found = neighbours(inventory)
    if len(names) == 2 and names[1] in found[names[0]]:
        return
    if len(names) < len(inventory.nodes):
        beside = " or ".join(sorted(found[names[0]]))
        report.error(
            "SPK402",
            f"{', '.join(names)} are not joined by cables of their own: ranks on a ring are all of it, two neighbours,"
            " or one node",
            nodes[-1].name.origin.span,
            hint=f"give --nodes {names[0]},{min(found[names[0]])}: next to {names[0]} is {beside}",
        )
        return
    # Of the two ways around, the one that agrees longest with what was chosen is probably meant.
    ways = [around(names[0], second, found) for second in sorted(found[names[0]], key=names.index)]
    if names in ways:
        return
    rank = next(i for i, (is_, should) in enumerate(zip(names, ways[0], strict=True)) if is_ != should)
    report.error(
        "SPK408",
        f"rank {rank} is {names[rank]}, which is not the ring's next node after {names[rank - 1]}:"
        f" the order is {', '.join(ways[0])}",
        nodes[rank].name.origin.span,
        hint=f"give --nodes {','.join(ways[0])}, or write the nodes of the inventory in that order",
    )
