"""SparkRing's images: their NCCL and all-reduce are told which HCA leads to which rank.

The values and the geometry are those of SparkRing's published profiles for two and for four Sparks:
https://github.com/FujitsuPolycom/sparkring/tree/main/profiles
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.fabric.base import Fabric
from sparkc.inventory.model import Inventory, Link, Node
from sparkc.record import replace
from sparkc.traced import Traced, from_rule

_RING = 4  # the only length of a ring with a published map

_PAIR_VALUES = {
    "NCCL_NET_PLUGIN": ("none", "SparkRing's pairs run NCCL's own transport"),
    "NCCL_IB_MERGE_NICS": ("0", "the two HCAs of the cable stay two paths"),
    "NCCL_CROSS_NIC": ("1", "a channel may leave by one HCA and arrive by the other"),
    "B12X_ROCE_PAIR_PATHS": ("2", "the all-reduce uses both HCAs of the cable"),
}
_RING_VALUES = {
    "NCCL_SWITCHLESS_RING_ONLY": ("1", "NCCL must not connect a tree: no cable joins opposite ranks"),
    "NCCL_IB_EXTENDED_IPV4_GIDS": ("1", "each port has addresses for the ranks behind its neighbour"),
    "NCCL_IB_PRESERVE_PCI_DOMAIN": ("1", "the twins of a port differ only in their PCI domain"),
    "NCCL_IB_ROUTE_DIAGNOSTICS": ("1", "the log tells which HCA leads to which rank"),
    "NCCL_CROSS_NIC": ("1", "a ring enters a node by one port and leaves it by the other"),
    "NCCL_P2P_LEVEL": ("SYS", "SparkRing's setting for rings of four"),
    "NCCL_MIN_NCHANNELS": ("4", "one channel per HCA"),
    "NCCL_MAX_NCHANNELS": ("4", "one channel per HCA"),
    "NCCL_PROTO": ("LL,LL128,Simple", "SparkRing's setting for rings of four"),
    "B12X_ROCE_OPPOSITE_PATHS": ("2", "the opposite rank is reached both ways around"),
}


class SparkRing:
    """Another fabric, for an image of SparkRing.

    Adds to a pair, and to two neighbours of a ring: ``B12X_ROCE_HCA``, ``B12X_ROCE_PEER_HCA_MAP`` and what pairs
    share. Adds to a whole ring: the same with the ring's map, ``NCCL_IB_HCA`` in the map's order and with port
    numbers, and the keys that only its NCCL reads, which it no longer refuses. Requires both HCAs of each cable, a
    ring of four, and the ports of its links. Elsewhere it adds nothing; ``NCCL_SWITCHLESS_RING_ONLY=1`` is refused
    there, because NCCL would then not use the switch.
    """

    def __init__(self, base: Fabric) -> None:
        self.base = base
        self.name = base.name
        self.wiring_keys = base.wiring_keys | {"B12X_ROCE_HCA", "B12X_ROCE_PEER_HCA_MAP"}
        ring_only = {} if base.name == "ring" else {"NCCL_SWITCHLESS_RING_ONLY": "0"}
        self.rules = replace(base.rules, required={**base.rules.required, **ring_only}, unread=frozenset())

    def check(self, inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
        """Report what the topology asks, and where the HCA that leads to a rank cannot be told."""
        findings = Report()
        self.base.check(inventory, nodes, findings)
        for diagnostic in findings.diagnostics:
            report.add(diagnostic)
        if findings.failed or not self._wires(nodes):
            return
        if self.name == "ring" and len(nodes) not in (2, _RING):
            report.error(
                "SPK416",
                f"SparkRing's image has no map of HCAs for a ring of {len(nodes)}",
                inventory.topology.origin.span,
                hint="it has one for four Sparks and for two: choose with --nodes, or use another image",
            )
            return
        for node in nodes:
            problem = self._problem(node, nodes, inventory)
            if problem is not None:
                message, hint = problem
                report.error("SPK416", message, node.name.origin.span, hint=hint)

    def environment(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> Mapping[str, Traced[str | None]]:
        """Return the variables of one rank."""
        env = dict(self.base.environment(node, nodes, inventory))
        if not self._wires(nodes) or self._problem(node, nodes, inventory) is not None:
            return env

        def put(key: str, value: str, reason: str) -> None:
            env[key] = Traced(value, from_rule(f"fabric: SparkRing {self.name}", reason))

        hcas = self._hcas(node, nodes, inventory)
        ring = len(nodes) > 2
        for key, (value, reason) in (_RING_VALUES if ring else _PAIR_VALUES).items():
            put(key, value, reason)
        if ring and inventory.gid is not None:
            put("B12X_ROCE_GID_INDEX", str(inventory.gid.value), "pinned in the inventory")
        port = ":1" if ring else ""
        exact = ",".join(f"{hca}{port}" for hca in hcas)
        put("NCCL_IB_HCA", f"={exact}", "in the order that the map of peers counts")
        put("B12X_ROCE_HCA", ",".join(hcas), "the HCAs that the map of peers counts from 0")
        peers = peer_map(nodes.index(node), len(nodes))
        put("B12X_ROCE_PEER_HCA_MAP", peers, "which of B12X_ROCE_HCA lead to which rank")
        return env

    def _wires(self, nodes: Sequence[Node]) -> bool:
        """Return whether SparkRing has keys for these nodes at all: cabled, and with RDMA."""
        return self.name in ("pair", "ring") and len(nodes) > 1 and all(node.hcas for node in nodes)

    def _problem(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> tuple[str, str] | None:
        """Return why the node's HCAs cannot be told apart, and what to do about it."""
        name = node.name.value
        listed = {hca.value.split(":")[0] for hca in node.hcas}
        if self.name == "pair":
            if len(listed) == 2:
                return None
            return (
                f"node {name!r} lists {len(listed)} HCA(s); SparkRing's image needs the two of the cable",
                "hcas: [rocep1s0f0, roceP2p1s0f0] for a cable in port 0, rocep1s0f1 and roceP2p1s0f1 for port 1",
            )
        ports = _ports(node, nodes, inventory)
        if None in ports or len(set(ports)) < len(ports):
            return (
                f"the links do not say which port of node {name!r} leads to which neighbour; SparkRing's image asks",
                "add the ports, like {a: spark-1, b: spark-2, a_port: 0, b_port: 1}; port 0 is next to the RJ45 socket",
            )
        missing = [hca for hca in self._hcas(node, nodes, inventory) if hca not in listed]
        if not missing:
            return None
        return f"node {name!r} does not list {', '.join(missing)}, which its cable leads to", "add it under `hcas:`"

    def _hcas(self, node: Node, nodes: Sequence[Node], inventory: Inventory) -> list[str]:
        """Return the HCAs in the map's order: towards the next rank, the previous one, then their twins."""
        if self.name == "pair":
            return [hca.value.split(":")[0] for hca in node.hcas]
        ports = _ports(node, nodes, inventory)
        return [f"roce{function}s0f{port}" for function in ("p1", "P2p1") for port in ports]


def peer_map(rank: int, count: int) -> str:
    """Return ``B12X_ROCE_PEER_HCA_MAP`` of a rank among two, or among the four of a ring: ``PEER=HCA/HCA,…``."""
    if count == 2:
        return f"{1 - rank}=0/1"
    opposite = (rank + 2) % _RING
    # The way to the opposite rank and the way back use different cables, so the two ranks take different ports.
    paths = {(rank + 1) % _RING: "0/2", (rank - 1) % _RING: "1/3", opposite: "0/3" if rank < opposite else "1/2"}
    return ",".join(f"{peer}={paths[peer]}" for peer in sorted(paths))


def _ports(node: Node, nodes: Sequence[Node], inventory: Inventory) -> list[int | None]:
    """Return the node's ports towards the next rank and the previous one; of two ranks, towards the other."""
    rank = nodes.index(node)
    peers = [nodes[(rank + 1) % len(nodes)], nodes[rank - 1]]
    return [_port(node, peer, inventory.links) for peer in peers[: len(nodes) - 1]]


def _port(node: Node, peer: Node, links: Sequence[Link]) -> int | None:
    for link in links:
        ends = ((link.a, link.a_port, link.b), (link.b, link.b_port, link.a))
        for own, port, other in ends:
            if own.value == node.name.value and other.value == peer.name.value:
                return None if port is None else port.value
    return None
