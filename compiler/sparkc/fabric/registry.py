"""The topologies; adding one is its file and one line here."""

from __future__ import annotations

from sparkc.fabric.base import Fabric
from sparkc.fabric.mesh import Mesh
from sparkc.fabric.pair import Pair
from sparkc.fabric.ring import Ring
from sparkc.fabric.single import Single
from sparkc.fabric.switch import Switch
from sparkc.inventory.model import Inventory
from sparkc.patterns import pattern

_FABRICS: dict[str, Fabric] = {fabric.name: fabric for fabric in (Single(), Pair(), Switch(), Mesh(), Ring())}
# Also behind a mirror's host name. An image that was built from one of SparkRing's has a name that tells nothing.
_SPARKRING = pattern(r"(?:.*/)?fujitsupolycom/sparkring(?:[:@].*)?")


def fabric_of(inventory: Inventory, image: str) -> Fabric:
    """Return the fabric of the inventory's topology, as ``image`` (a reference) needs it."""
    fabric = _FABRICS[inventory.topology.value]
    if _SPARKRING.fullmatch(image) is None:
        return fabric
    from sparkc.fabric.sparkring import SparkRing  # for the few recipes with that image

    return SparkRing(fabric)
