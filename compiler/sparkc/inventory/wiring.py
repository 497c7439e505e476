"""What an inventory says about its cables: the links between nodes, and the addresses on a node's HCAs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics.suggest import did_you_mean
from sparkc.inventory.model import Link
from sparkc.reading.fields import Fields
from sparkc.traced import Traced


def read_links(root: Fields, names: Sequence[str]) -> tuple[Link, ...]:
    """Return the cables under ``links``; an end that is none of the nodes ``names``, or both on one, is reported."""
    links = []
    for fields in root.items("links"):
        a, b = fields.text("a"), fields.text("b")
        for end in (a, b):
            if end is not None and end.value not in names:
                fields.report.error(
                    "SPK209",
                    f"{end.origin.text.split(': ')[-1]} names node {end.value!r}, which is not in the inventory",
                    end.origin.span,
                    hint=did_you_mean(end.value, names) or f"nodes are {', '.join(names)}",
                )
        if a is None or b is None:
            continue  # the schema has complained
        if a.value == b.value:
            fields.report.error(
                "SPK210",
                f"both ends of this link are on node {a.value!r}",
                b.origin.span,
                hint="name the node at the cable's other end",
            )
        links.append(Link(a, b, a_port=fields.integer("a_port", 0, 1), b_port=fields.integer("b_port", 0, 1)))
    return tuple(links)


def read_hca_addresses(node: Fields, name: Traced[str], hcas: Sequence[Traced[str]]) -> Mapping[str, Traced[str]]:
    """Return ``hca_addresses``: HCA to address with prefix length; HCAs that the node does not list are reported."""
    listed = [hca.value.split(":")[0] for hca in hcas]
    addresses: dict[str, Traced[str]] = {}
    for hca, value in node.text_map("hca_addresses").items():
        if hca not in listed:
            node.report.error(
                "SPK211",
                f"hca_addresses names {hca}, which is not among the HCAs of node {name.value!r}",
                value.origin.span,
                hint=did_you_mean(hca, listed) or f"add {hca} to `hcas:`, or remove its address",
            )
        if value.value is not None and _is_interface(value.value):
            addresses[hca] = value.with_value(value.value)
        else:
            node.report.error(
                "SPK212",
                f"address of HCA {hca}: {value.value!r} is not an address with its prefix length",
                value.origin.span,
                hint="write it as `ip -br addr` shows it for the HCA's interface, such as 192.168.177.11/24",
            )
    return addresses


def _is_interface(text: str) -> bool:
    from ipaddress import ip_interface  # 2 ms for the few inventories that state these addresses

    try:
        ip_interface(text)
    except ValueError:
        return False
    return "/" in text
