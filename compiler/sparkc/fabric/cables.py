"""Nodes that are cabled to each other without a switch: what their links must form, and what ranks they allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.inventory.model import Inventory, Node
from sparkc.patterns import pattern
from sparkc.reading.source import Span
from sparkc.traced import Traced, from_rule

_AUTODISCOVER = "https://github.com/eugr/spark-vllm-docker"
_LAYOUT = "https://github.com/FujitsuPolycom/sparkring/blob/main/runtime/common/fabric_layout.py"

# What every cabled group needs: a stock NCCL connects HCAs by position in the list, whatever the cable's other end is.
REQUIRED = {
    "NCCL_NET_PLUGIN": "none",
    "NCCL_IB_SUBNET_AWARE_ROUTING": "1",
    "NCCL_IB_MERGE_NICS": "0",
}
_REASONS = {
    "NCCL_NET_PLUGIN": "a plugin in the image would replace the transport that knows about subnets",
    "NCCL_IB_SUBNET_AWARE_ROUTING": "each cable has a subnet of its own: NCCL must take the HCA that faces the peer",
    "NCCL_IB_MERGE_NICS": "merged, two HCAs that lead to different nodes would count as one",
    "NCCL_ALGO": "data moves along the cables; a tree would join ranks that no cable joins",
}

_CABLE_INTERFACE = pattern(r"en(P2)?p1s0f[01]np[01]")
_HCAS_OF_TWO_PORTS = 4


def required_environment(topology: str, required: Mapping[str, str]) -> dict[str, Traced[str | None]]:
    """Return the variables that the topology requires, each with its reason."""
    return {
        key: Traced(value, from_rule(f"fabric: {topology}", f"{_REASONS[key]}; {_AUTODISCOVER} sets it too"))
        for key, value in required.items()
    }


def neighbours(inventory: Inventory) -> dict[str, set[str]]:
    """Return, per node name, the names at the other ends of its cables."""
    found: dict[str, set[str]] = {node.name.value: set() for node in inventory.nodes}
    for link in inventory.links:
        found[link.a.value].add(link.b.value)
        found[link.b.value].add(link.a.value)
    return found


def around(start: str, towards: str, links: Mapping[str, set[str]]) -> list[str]:
    """Return the names in the order in which one meets them, leaving ``start`` towards a neighbour.

    Ends where a node has no further neighbour that was not met.
    """
    order = [start, towards]
    while ahead := sorted(links[order[-1]] - set(order)):
        order.append(ahead[0])
    return order


def links_span(inventory: Inventory) -> Span | None:
    """Return the place of the first link, else of the topology."""
    return (inventory.links[0].a if inventory.links else inventory.topology).origin.span


def check_cabled(inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
    """Report what ranks on more than one cable lack: the HCAs of both ports, and an interface that all share."""
    if len(nodes) < 3:
        return
    topology = inventory.topology.value
    for node in nodes:
        if 0 < len(node.hcas) < _HCAS_OF_TWO_PORTS:
            report.error(
                "SPK409",
                f"node {node.name.value!r} lists {len(node.hcas)} HCA(s), but in a {topology} each node uses both"
                " ports, which are four",
                node.hcas[0].origin.span,
                hint="hcas: [rocep1s0f0, rocep1s0f1, roceP2p1s0f0, roceP2p1s0f1]",
            )
        interface = node.interface
        if interface is not None and _CABLE_INTERFACE.fullmatch(interface.value):
            report.warning(
                "SPK414",
                f"interface {interface.value} of node {node.name.value!r} is on one cable, which not all ranks share:"
                " they meet over the management network",
                interface.origin.span,
                hint=f"give the management interface, often enP7s7, and its address ({_LAYOUT})",
            )
