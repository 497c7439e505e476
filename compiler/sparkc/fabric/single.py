"""Sparks that are not wired to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.fabric.rules import Rules
from sparkc.fabric.wiring import WIRING_KEYS, solo_environment
from sparkc.inventory.model import Inventory, Node
from sparkc.traced import Traced


class Single:
    """One node serves alone.

    Sets: ``NCCL_SOCKET_IFNAME``, ``GLOO_SOCKET_IFNAME`` and ``TP_SOCKET_IFNAME`` to ``lo`` and
    ``NCCL_IB_DISABLE=1``, because a rank without peers must not depend on a cable.
    Requires: nothing. Forbids: a bundle of several nodes, which have no fabric to meet on.
    """

    name = "single"
    wiring_keys = WIRING_KEYS
    rules = Rules()

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report a choice of several nodes."""
        if len(nodes) > 1:
            report.error(
                "SPK402",
                f"topology 'single' has no fabric between its nodes, but {len(nodes)} are chosen:"
                f" {', '.join(node.name.value for node in nodes)}",
                inventory.topology.origin.span,
                hint="set `topology: pair` (one cable between two Sparks) or `topology: switch`",
            )

    def environment(
        self,
        node: Node,  # noqa: ARG002  alike on every node
        nodes: Sequence[Node],  # noqa: ARG002
        inventory: Inventory,  # noqa: ARG002
    ) -> Mapping[str, Traced[str | None]]:
        """Return the solo variables."""
        return solo_environment()
