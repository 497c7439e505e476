"""``CLUSTER_LINKS`` of a ``.env`` file: the cables between Sparks that are wired without a switch.

The value is a JSON list with one object per cable, which maps each end's node to the end's own address:
``[{"10.0.0.1": "10.1.0.1", "10.0.0.2": "10.1.0.2"}]``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sparkc.diagnostics import Report
from sparkc.inventory.model import Link
from sparkc.traced import Traced

# Three Sparks with two cables each are a complete graph, and a ring only from four on.
_SMALLEST_RING = 4


def read_links(value: Traced[str] | None, names: Mapping[str, Traced[str]], report: Report) -> tuple[Link, ...]:
    """Return the cables; ``names`` are the nodes' names by their addresses. () after an error."""
    if value is None or not value.value:
        return ()
    import json  # few clusters are wired without a switch

    def refuse(message: str) -> tuple[Link, ...]:
        report.error(
            "SPK222",
            message,
            value.origin.span,
            hint='write a JSON list with one {"NODE": "ADDRESS", "NODE": "ADDRESS"} per cable, as autodiscover.sh does',
        )
        return ()

    try:
        cables = json.loads(value.value)
    except (ValueError, RecursionError) as error:
        return refuse(f"CLUSTER_LINKS is not JSON: {error}")
    if not isinstance(cables, list):
        return refuse("CLUSTER_LINKS is not a list")
    links = []
    for cable in cables:
        ends = list(cable.items()) if isinstance(cable, dict) else []
        if len(ends) != 2 or not all(isinstance(end, str) for _, end in ends):
            return refuse("CLUSTER_LINKS has a cable without two ends")
        (a, a_address), (b, b_address) = ends
        unknown = [node for node in (a, b) if node not in names]
        if unknown:
            return refuse(f"CLUSTER_LINKS names {unknown[0]}, which is not among CLUSTER_NODES")
        links.append(
            Link(
                value.with_value(names[a].value),
                value.with_value(names[b].value),
                value.with_value(a_address),
                value.with_value(b_address),
            )
        )
    return tuple(links)


def links_topology(value: Traced[str] | None, links: tuple[Link, ...], count: int) -> Traced[str] | None:
    """Return the topology that the cables of ``count`` nodes make: a ring, a mesh, or none of ours."""
    if value is None or not links or count < 3:
        return None
    pairs = {frozenset((link.a.value, link.b.value)) for link in links}
    degrees = Counter(name for pair in pairs for name in pair)
    if count >= _SMALLEST_RING and len(pairs) == count and set(degrees.values()) == {2}:
        return value.with_value("ring")
    return value.with_value("mesh") if len(pairs) == count * (count - 1) // 2 else None
