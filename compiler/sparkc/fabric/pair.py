"""Two Sparks on one cable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.fabric.rules import Rules
from sparkc.fabric.wiring import WIRING_KEYS, check_cluster, cluster_environment, solo_environment
from sparkc.inventory.model import Inventory, Node
from sparkc.traced import Traced


class Pair:
    """Two nodes joined by one cable, which may leave from another port on each.

    Sets, per node: the interface-name family, ``NCCL_IB_HCA`` as an exact list, ``NCCL_IB_DISABLE=0`` and
    ``NCCL_NET=IB``; ``NCCL_IB_GID_INDEX`` where the inventory pins it; solo values when one node serves alone.
    Requires: an address on the cable per node. Forbids: more or fewer than two nodes in the inventory,
    because a third one is not on the cable.
    """

    name = "pair"
    wiring_keys = WIRING_KEYS
    rules = Rules()

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report an inventory of other than two nodes, and what the chosen ones lack."""
        if len(inventory.nodes) != 2:
            report.error(
                "SPK402",
                f"topology 'pair' is two nodes on one cable, but the inventory has {len(inventory.nodes)}",
                inventory.topology.origin.span,
                hint="set `topology: switch` for more than two nodes, `topology: single` for one",
            )
        check_cluster(inventory, nodes, report)

    def environment(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> Mapping[str, Traced[str | None]]:
        """Return the variables of one rank."""
        return cluster_environment(node, inventory) if len(nodes) > 1 else solo_environment()
