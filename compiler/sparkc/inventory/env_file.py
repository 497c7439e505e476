"""spark-vllm-docker's ``.env`` as an inventory: its nodes, their one interface and HCA list, and their environment.

The launcher writes the file (``autodiscover.sh``) and reads it: ``KEY=VALUE`` lines, one pair of quotes around a
value removed, nothing expanded. https://github.com/eugr/spark-vllm-docker
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sparkc.diagnostics import Related, Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.inventory.address import canonical_address
from sparkc.inventory.checks import check_address, check_shape, check_ssh
from sparkc.inventory.env_links import links_topology, read_links
from sparkc.inventory.load import home_of, read_topology, stem_of
from sparkc.inventory.model import Inventory, Node
from sparkc.patterns import pattern
from sparkc.reading.source import Source, Span
from sparkc.traced import Traced, from_file, from_flag, from_rule

_KEYS = (
    "CLUSTER_NODES", "COPY_HOSTS", "LOCAL_IP", "ETH_IF", "IB_IF", "MASTER_PORT", "CLUSTER_LINKS", "CONTAINER_NAME",
)  # fmt: skip
_PREFIX = "CONTAINER_"
_LINE = pattern(r"[ \t]*([A-Za-z_][A-Za-z0-9_]*)=(.*?)[ \t]*")
_ITEM = pattern(r"[^, \t](?:[^,]*[^, \t])?")
# Two cables a node, each with two functions: what autodiscover.sh writes where Sparks are wired without a switch.
_MESH_HCAS = 4
_MESH_NODES = 3


def read_env_file(source: Source, user: str | None, report: Report) -> Inventory | None:
    """Return the inventory, or None after an error.

    Rank 0 is ``LOCAL_IP``, the machine where the launcher ran; then come the others as listed. ``user`` (``--user``)
    logs in on every node: the file does not say who.
    """
    findings = Report()
    values = _values(source, findings)
    inventory = _inventory(source, values, user, findings)
    for diagnostic in findings.diagnostics:
        report.add(diagnostic)
    return None if findings.failed else inventory


class _Shared(NamedTuple):
    """What holds for all nodes."""

    user: Traced[str]
    interface: Traced[str] | None
    hcas: tuple[Traced[str], ...]


def _inventory(source: Source, values: Mapping[str, Traced[str]], user: str | None, report: Report) -> Inventory | None:
    listed = values.get("CLUSTER_NODES")
    if listed is None or not listed.value:
        at = Span(source, 1, 1, 1, 1) if listed is None else listed.origin.span
        report.error(
            "SPK030", "required key 'CLUSTER_NODES' is missing", at, hint="add CLUSTER_NODES=10.0.0.1,10.0.0.2"
        )
        return None
    addresses = _addresses(values, report)
    shared = _Shared(_user(user, listed, report), *_wiring(values, report))
    transfers = _transfers(values.get("COPY_HOSTS"), addresses, report)
    nodes = tuple(_node(address, transfers.get(address.value), shared) for address in addresses)
    names = {node.address.value: node.name for node in nodes if node.address is not None}
    links = read_links(values.get("CLUSTER_LINKS"), names, report)
    name = values.get("CONTAINER_NAME")
    if name is not None:
        check_shape("name", name, "CONTAINER_NAME", report)
    topology = links_topology(values.get("CLUSTER_LINKS"), links, len(nodes))
    if topology is None and len(nodes) == _MESH_NODES and len(shared.hcas) == _MESH_HCAS:
        topology = values["IB_IF"].with_value("mesh")
    return Inventory(
        name=name.value if name is not None else stem_of(source.name),
        kind="file",
        source=source,
        topology=read_topology(topology, len(nodes)),
        nodes=nodes,
        env=dict(_environment(values)),
        links=links,
        master_port=_port(values.get("MASTER_PORT"), report),
    )


def _values(source: Source, report: Report) -> dict[str, Traced[str]]:
    values: dict[str, Traced[str]] = {}
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            report.error(
                "SPK220",
                "this line is not KEY=VALUE",
                Span(source, number, 1, number, len(line) + 1),
                hint="write KEY=VALUE without blanks around =, or put # before a comment",
            )
            continue
        key = match[1]
        at = Span(source, number, match.start(1) + 1, number, match.end(1) + 1)
        if key in values:
            earlier = values[key].origin.span
            report.error(
                "SPK006",
                f"{key} is set twice",
                at,
                hint="remove one of the two",
                related=[Related("first set here", earlier)] if earlier is not None else [],
            )
            continue
        if key not in _KEYS and not key.startswith(_PREFIX):
            hint = did_you_mean(key, _KEYS) or f"spark-vllm-docker reads {', '.join(_KEYS)} and {_PREFIX}<VARIABLE>"
            report.warning("SPK020", f"unknown key {key!r}", at, hint=hint)
        end = max(match.end(2), match.start(2) + 1)
        span = Span(source, number, match.start(2) + 1, number, end + 1)
        values[key] = Traced(_unquoted(match[2]), from_file(span, key))
    return values


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def _items(value: Traced[str] | None) -> Iterator[Traced[str]]:
    """Yield the items of a comma-separated value, each with its own place."""
    if value is None or value.origin.span is None:
        return
    whole = value.origin.span
    start = whole.source.line(whole.line).find(value.value, whole.column - 1) + 1
    for match in _ITEM.finditer(value.value):
        span = Span(whole.source, whole.line, start + match.start(), whole.line, start + match.end())
        yield Traced(match[0], from_file(span, value.origin.text.split(": ")[-1]))


def _addresses(values: Mapping[str, Traced[str]], report: Report) -> tuple[Traced[str], ...]:
    """Return the nodes' addresses, each once, the head's first."""
    listed: dict[str, Traced[str]] = {}
    for address in _items(values["CLUSTER_NODES"]):
        if not check_address(address, "CLUSTER_NODES:", report):
            continue
        if canonical_address(address.value) in listed:
            report.error(
                "SPK204",
                f"CLUSTER_NODES lists {address.value} twice",
                address.origin.span,
                hint="list each node once",
            )
        listed[canonical_address(address.value)] = address
    local = values.get("LOCAL_IP")
    if local is None or not local.value:
        return tuple(listed.values())
    head = listed.pop(canonical_address(local.value), None)
    if head is None:
        report.error(
            "SPK221",
            f"LOCAL_IP {local.value!r} is not among CLUSTER_NODES",
            local.origin.span,
            hint="add it there: it is rank 0; without LOCAL_IP the first listed node is",
        )
        return tuple(listed.values())
    return (head, *listed.values())


def _user(user: str | None, listed: Traced[str], report: Report) -> Traced[str]:
    traced = Traced(user or "", from_flag("--user"))
    if user is None:
        report.error(
            "SPK205",
            "this file does not say who logs in on the nodes, and whose home folder holds the caches",
            listed.origin.span,
            hint="add --user NAME",
        )
    else:
        check_shape("user", traced, "--user", report)
    return traced


def _wiring(values: Mapping[str, Traced[str]], report: Report) -> tuple[Traced[str] | None, tuple[Traced[str], ...]]:
    """Return interface and HCAs, the same for all nodes."""
    interface, hcas = values.get("ETH_IF"), tuple(_items(values.get("IB_IF")))
    if interface is not None and not interface.value:
        interface = None
    if interface is not None:
        check_shape("interface", interface, "ETH_IF", report)
    seen: set[str] = set()
    for hca in hcas:
        check_shape("hca", hca, "IB_IF", report)
        if hca.value in seen:
            report.error("SPK204", f"IB_IF lists {hca.value} twice", hca.origin.span, hint="list each HCA once")
        seen.add(hca.value)
    return interface, hcas


def _transfers(
    hosts: Traced[str] | None, addresses: tuple[Traced[str], ...], report: Report
) -> Mapping[str, Traced[str]]:
    """Return the address for copies of each worker that has one beside its own, by the worker's address.

    A host that is a worker's own address belongs to that worker; other hosts go to the remaining workers in order.
    """
    workers = [address.value for address in addresses[1:]]
    given = [host for host in _items(hosts) if check_ssh(host, "COPY_HOSTS", report)]
    others = [host for host in given if host.value not in workers]
    own = {host.value for host in given} & set(workers)
    free = [worker for worker in workers if worker not in own]
    if others and len(others) != len(free):
        report.error(
            "SPK223",
            f"COPY_HOSTS has {len(others)} host(s) for {len(free)} worker(s)",
            others[0].origin.span,
            hint="list one host for each worker, in the order of CLUSTER_NODES, or remove COPY_HOSTS",
        )
        return {}
    if others:
        pairs = ", ".join(f"{host.value} for {worker}" for host, worker in zip(others, free, strict=True))
        report.warning(
            "SPK223",
            f"COPY_HOSTS are taken in the order of the workers: {pairs}",
            others[0].origin.span,
            hint="check that each is an address of that node; the file does not say it",
        )
    return dict(zip(free, others, strict=False))


def _node(address: Traced[str], transfer: Traced[str] | None, shared: _Shared) -> Node:
    rule = from_rule("name of a .env node", "the file knows nodes by their addresses only")
    return Node(
        name=Traced(address.value.replace(":", "-"), rule),
        ssh=address,
        user=shared.user,
        home=home_of(shared.user),
        address=address,
        transfer=transfer,
        interface=shared.interface,
        hcas=shared.hcas,
    )


def _environment(values: Mapping[str, Traced[str]]) -> Iterator[tuple[str, Traced[str | None]]]:
    for key, value in values.items():
        if key.startswith(_PREFIX) and key not in _KEYS and key != _PREFIX:
            yield key.removeprefix(_PREFIX), Traced(value.value, value.origin)


def _port(value: Traced[str] | None, report: Report) -> Traced[int] | None:
    if value is None or not value.value:
        return None
    text = value.value
    if text.isascii() and text.isdecimal() and not text.startswith("0") and len(text) < 6 and int(text) < 65536:
        return value.with_value(int(text))
    report.error(
        "SPK023",
        f"MASTER_PORT is {text!r}, but must be between 1 and 65535",
        value.origin.span,
        hint="write digits only",
    )
    return None
