"""Any number of Sparks on a switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.fabric.rules import Rules
from sparkc.fabric.wiring import WIRING_KEYS, check_cluster, cluster_environment, solo_environment
from sparkc.inventory.model import Inventory, Node
from sparkc.traced import Traced


class Switch:
    """Nodes that all reach each other through a switch.

    Sets, per node: the interface-name family, ``NCCL_IB_HCA`` as an exact list, ``NCCL_IB_DISABLE=0`` and
    ``NCCL_NET=IB``; ``NCCL_IB_GID_INDEX`` where the inventory pins it; solo values when one node serves alone.
    Requires: an address on the switch per node. Forbids: nothing.
    """

    name = "switch"
    wiring_keys = WIRING_KEYS
    rules = Rules()

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report what the chosen nodes lack."""
        check_cluster(inventory, nodes, report)

    def environment(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> Mapping[str, Traced[str | None]]:
        """Return the variables of one rank."""
        return cluster_environment(node, inventory) if len(nodes) > 1 else solo_environment()
