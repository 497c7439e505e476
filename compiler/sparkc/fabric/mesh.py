"""Three Sparks, each cabled to the two others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from sparkc.diagnostics import Report
from sparkc.fabric.cables import REQUIRED, check_cabled, links_span, neighbours, required_environment
from sparkc.fabric.rules import Rules
from sparkc.fabric.wiring import WIRING_KEYS, check_cluster, cluster_environment, solo_environment
from sparkc.inventory.model import Inventory, Node
from sparkc.traced import Traced

_SIZE = 3  # a Spark has two ports, so no more nodes can all be joined to each other


class Mesh:
    """Three nodes that are a complete graph.

    Ranks meet over the management network, because no cable is shared by all: ``address`` and ``interface`` are
    the management ones, ``hcas`` the four of both ports.
    Sets, per node: what :class:`~sparkc.fabric.switch.Switch` sets, and ``NCCL_NET_PLUGIN=none``,
    ``NCCL_IB_SUBNET_AWARE_ROUTING=1`` and ``NCCL_IB_MERGE_NICS=0``, whose contrary values it refuses: NCCL would
    pair HCAs that no cable joins. Requires: three nodes, and links, if given, between all of them.
    """

    name = "mesh"
    wiring_keys = WIRING_KEYS
    rules = Rules(required=REQUIRED)

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report an inventory that is no mesh, and what the chosen nodes lack."""
        if len(nodes) < 2:
            return
        if len(inventory.nodes) != _SIZE:
            report.error(
                "SPK402",
                f"topology 'mesh' is three nodes, each cabled to the two others, but the inventory has"
                f" {len(inventory.nodes)}",
                inventory.topology.origin.span,
                hint="set `topology: pair` for two nodes, `ring` or `switch` for more than three",
            )
        elif inventory.links:
            found = neighbours(inventory)
            missing = [f"{a} and {b}" for a, b in combinations(found, 2) if b not in found[a]]
            if missing:
                report.error(
                    "SPK407",
                    f"topology 'mesh' joins each node to each other, but no link joins {'; '.join(missing)}",
                    links_span(inventory),
                    hint="add the missing cable under `links:`, or remove `links:` if all three cables are there",
                )
        check_cluster(inventory, nodes, report)
        check_cabled(inventory, nodes, report)

    def environment(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> Mapping[str, Traced[str | None]]:
        """Return the variables of one rank."""
        if len(nodes) == 1:
            return solo_environment()
        return {**cluster_environment(node, inventory), **required_environment(self.name, self.rules.required)}
