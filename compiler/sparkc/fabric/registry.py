"""The topologies that can be compiled; adding one is its file and one line here."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.fabric.base import Fabric
from sparkc.fabric.pair import Pair
from sparkc.fabric.single import Single
from sparkc.fabric.switch import Switch
from sparkc.inventory.model import Inventory

_FABRICS: dict[str, Fabric] = {fabric.name: fabric for fabric in (Single(), Pair(), Switch())}


def fabric_of(inventory: Inventory, report: Report) -> Fabric | None:
    """Return the fabric of the inventory's topology; a topology that is not supported is a located error."""
    topology = inventory.topology
    fabric = _FABRICS.get(topology.value)
    if fabric is None:
        report.error(
            "SPK401",
            f"topology {topology.value!r} is not supported; supported are {', '.join(_FABRICS)}",
            topology.origin.span,
            hint="put the nodes on a switch, or give each connected pair an inventory of its own with `topology: pair`",
        )
    return fabric
