"""An inventory made from ``--nodes 10.0.0.1,10.0.0.2``, for clusters that have no inventory file."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.inventory.address import canonical_address
from sparkc.inventory.checks import check_address, check_shape
from sparkc.inventory.load import home_of, read_topology
from sparkc.inventory.model import Inventory, Node
from sparkc.reading.source import Source
from sparkc.traced import Traced, from_flag, from_rule


def adhoc_inventory(
    addresses: Sequence[str], user: str | None, interface: str | None, hcas: Sequence[str], report: Report
) -> Inventory | None:
    """Return nodes ``node-1``, ``node-2``, … reached by ssh at their fabric addresses; None after an error.

    ``user``, ``interface`` and ``hcas`` (``--user``, ``--eth-if``, ``--ib-if``) hold for all nodes: a cluster
    whose nodes differ needs an inventory file. The caller has split the comma-separated flags.
    """
    findings = Report()
    traced_user = None if user is None else Traced(user, from_flag("--user"))
    traced_interface = None if interface is None else Traced(interface, from_flag("--eth-if"))
    traced_hcas = tuple(Traced(hca, from_flag("--ib-if")) for hca in hcas)
    if traced_user is None:
        findings.error(
            "SPK205",
            "--nodes with addresses does not say who logs in there, and whose home folder holds the caches",
            hint="add --user NAME, or write an inventory: sparkc init",
        )
        traced_user = Traced("", from_flag("--user"))
    else:
        check_shape("user", traced_user, "--user", findings)
    if traced_interface is not None:
        check_shape("interface", traced_interface, "--eth-if", findings)
    for hca in traced_hcas:
        check_shape("hca", hca, "--ib-if", findings)
    seen: set[str] = set()
    nodes = []
    for number, text in enumerate(addresses, start=1):
        address = Traced(text, from_flag("--nodes"))
        check_address(address, "--nodes:", findings)
        if canonical_address(text) in seen:
            findings.error("SPK204", f"--nodes lists {text} twice", hint="list each node once")
        seen.add(canonical_address(text))
        nodes.append(
            Node(
                name=Traced(f"node-{number}", from_rule("ad-hoc node", "named by its place in --nodes")),
                ssh=address,
                user=traced_user,
                home=home_of(traced_user),
                address=address,
                interface=traced_interface,
                hcas=traced_hcas,
            )
        )
    for diagnostic in findings.diagnostics:
        report.add(diagnostic)
    if findings.failed:
        return None
    return Inventory(
        name="ad-hoc",
        kind="ad-hoc",
        source=Source("--nodes"),
        topology=read_topology(None, len(nodes)),
        nodes=tuple(nodes),
    )
