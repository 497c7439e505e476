"""What the topologies have in common: the solo and the cluster environment, and the checks of a cabled node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations

from sparkc.diagnostics import Report
from sparkc.inventory.model import Inventory, Node
from sparkc.patterns import pattern
from sparkc.traced import Origin, Traced, from_rule

_GLOO = "https://github.com/vllm-project/vllm/issues/7074"
_PER_NODE = "https://github.com/vllm-project/vllm/pull/40991"
_NCCL_HCA = "https://github.com/NVIDIA/nccl/blob/master/src/transport/net_ib/init.cc"
_GID_DRIFT = "https://github.com/FujitsuPolycom/sparkring/issues/186"
_SILENT_TCP = "https://github.com/luisefigueroa/pulsar-gb10-vllm-stack/blob/main/docs/TROUBLESHOOTING.md"
_TWINS = "https://github.com/tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark/pull/35"
_NETWORKS = "https://github.com/Reederey87/dgx-spark-2x-deepseek-v4-flash/blob/main/docs/02-networking-nccl.md"
_PLAYBOOK = "https://github.com/NVIDIA/dgx-spark-playbooks/blob/main/nvidia/vllm/README.md"

# Each library looks for its own name and falls back to the default route or the host's name without it, so the
# family is set together or not at all.
_INTERFACE_KEYS = {
    "MN_IF_NAME": f"the name by which NVIDIA's playbook hands on the fabric interface; {_PLAYBOOK}",
    "UCX_NET_DEVICES": f"UCX takes every interface it finds unless told; {_PLAYBOOK}",
    "NCCL_SOCKET_IFNAME": f"NCCL connects its ranks over this interface, whose name differs per node; {_PER_NODE}",
    "GLOO_SOCKET_IFNAME": f"Gloo does not follow NCCL's key but the host's name, even to 127.0.0.1; {_GLOO}",
    "TP_SOCKET_IFNAME": f"TensorPipe chooses an interface on its own unless told; {_PLAYBOOK}",
    "OMPI_MCA_btl_tcp_if_include": f"Open MPI takes every interface it finds unless told; {_PLAYBOOK}",
}

# What depends on a node's own interface and HCAs. A recipe made for another cluster brings its transport along
# (NCCL_NET=Socket), and RDMA is off without a word.
WIRING_KEYS = frozenset({*_INTERFACE_KEYS, "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE", "NCCL_NET"})

# One QSFP port of a Spark is two PCIe functions, each with its own HCA.
_TWIN = pattern(r"roce(?P<function>P2p1|p1)s0f(?P<port>[01])")


def solo_environment() -> Mapping[str, Traced[str | None]]:
    """Return the variables of a rank without peers: everything over loopback, no RDMA."""
    loopback = "one rank has no peers: the interface cannot be down, renamed or missing"
    values: dict[str, tuple[str, str]] = {
        "NCCL_SOCKET_IFNAME": ("lo", loopback),
        "GLOO_SOCKET_IFNAME": ("lo", loopback),
        "TP_SOCKET_IFNAME": ("lo", loopback),
        "NCCL_IB_DISABLE": ("1", "one rank has no peers: HCAs need not be opened"),
    }
    return {key: Traced(value, from_rule("fabric: solo", reason)) for key, (value, reason) in values.items()}


def cluster_environment(node: Node, inventory: Inventory) -> Mapping[str, Traced[str | None]]:
    """Return the variables of one rank among several, from its own node's interface and HCAs."""
    env: dict[str, Traced[str | None]] = {}

    def put(key: str, value: str, reason: str) -> None:
        env[key] = Traced(value, _rule(inventory.topology.value, reason))

    if node.interface is not None:
        for key, reason in _INTERFACE_KEYS.items():
            put(key, node.interface.value, reason)
    if not node.hcas:
        put("NCCL_IB_DISABLE", "1", "the node lists no HCAs: NCCL uses TCP instead of whatever device it finds")
        return env
    names = ",".join(hca.value for hca in node.hcas)
    put("NCCL_IB_HCA", f"={names}", f"without the leading = NCCL takes every HCA whose name starts so; {_NCCL_HCA}")
    put("NCCL_IB_DISABLE", "0", "the node lists HCAs")
    put("NCCL_NET", "IB", f"without RDMA NCCL must fail, not fall back to TCP at a tenth of the speed; {_SILENT_TCP}")
    if inventory.gid is not None:
        reason = f"pinned in the inventory; unpinned, NCCL looks for the index itself: it moves; {_GID_DRIFT}"
        put("NCCL_IB_GID_INDEX", str(inventory.gid.value), reason)
    return env


@cache
def _rule(topology: str, reason: str) -> Origin:
    """One origin for all nodes of a topology."""
    return from_rule(f"fabric: {topology}", reason)


def check_cluster(inventory: Inventory, nodes: Sequence[Node], report: Report) -> None:
    """Report, per node, what ranks that must find each other lack. One chosen node needs nothing."""
    if len(nodes) < 2:
        return
    ad_hoc = inventory.kind == "ad-hoc"
    for node in nodes:
        name, span = node.name.value, node.name.origin.span
        if node.address is None:
            report.error(
                "SPK403",
                f"node {name!r} has no address, which a bundle of {len(nodes)} nodes needs",
                span,
                hint="add `address:` with the node's IP address on the fabric; the name given to ssh may not"
                " resolve inside containers",
            )
        if node.interface is None:
            report.warning(
                "SPK404",
                f"node {name!r} names no interface: NCCL, Gloo and Open MPI choose one themselves",
                span,
                hint="give --eth-if NAME" if ad_hoc else "add `interface:`, the name that `ip -br addr` shows",
            )
        if not node.hcas:
            report.warning(
                "SPK405",
                f"node {name!r} lists no HCAs: its ranks talk TCP, about a tenth of what RDMA moves",
                span,
                hint="give --ib-if NAME,NAME" if ad_hoc else "add `hcas:` with the names that `ibdev2netdev` shows",
            )
        _check_twins(node, report)
        _check_networks(node, report)


def _check_twins(node: Node, report: Report) -> None:
    listed = [hca.value.split(":")[0] for hca in node.hcas]
    for hca, name in zip(node.hcas, listed, strict=True):
        match = _TWIN.fullmatch(name)
        if match is None:
            continue
        twin = f"roce{'p1' if match['function'] == 'P2p1' else 'P2p1'}s0f{match['port']}"
        if twin not in listed:
            report.warning(
                "SPK406",
                f"node {node.name.value!r} lists {name} without its twin {twin}: one port is two HCAs, and one alone"
                " moved 98 of 161 Gb/s",
                hca.origin.span,
                hint=f"list both: [{name}, {twin}] ({_TWINS})",
            )


def _check_networks(node: Node, report: Report) -> None:
    """Warn where two HCAs of a node are in one network."""
    if not node.hca_addresses:
        return
    from ipaddress import ip_interface  # 2 ms for the few inventories that state these addresses

    networks = {hca: ip_interface(address.value).network for hca, address in node.hca_addresses.items()}
    for (hca, network), (other, taken) in combinations(networks.items(), 2):
        if network.version == taken.version and network.overlaps(taken):
            report.warning(
                "SPK415",
                f"{hca} and {other} of node {node.name.value!r} are both in {taken}: the kernel answers for both on"
                " either, and RDMA packets arrive at the wrong one",
                node.hca_addresses[other].origin.span,
                hint=f"give each its own network, the same at both ends of a cable ({_NETWORKS})",
            )
