"""The protocol of a fabric: how the nodes are wired, and what the environment must say about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sparkc.diagnostics import Report
from sparkc.fabric.rules import Rules
from sparkc.inventory.model import Inventory, Node
from sparkc.traced import Traced


class Fabric(Protocol):
    """One topology; its class docstring says which keys it sets, what it requires and forbids, and why.

    A fabric owns the ``NCCL_*`` transport keys and the whole family of interface names. Names that belong to an
    engine (``VLLM_HOST_IP``, ``RAY_*``, ``SGLANG_HOST_IP``) are never set here.
    """

    name: str
    wiring_keys: frozenset[str]
    """Keys whose values differ from node to node; one fixed value for several ranks hides the right ones."""

    rules: Rules
    """What it asks of the recipe, and of whoever sets the environment, where several ranks serve."""

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report what the topology forbids, requires or advises for the chosen ``nodes`` (rank 0 first)."""

    def environment(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> Mapping[str, Traced[str | None]]:
        """Return the fabric's variables for ``node``, one of the chosen ``nodes``; one chosen node is solo."""
