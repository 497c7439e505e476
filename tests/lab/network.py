"""The cables: a switch in a network namespace of its own, and the links between it, the nodes and the control machine.

The control machine has a namespace too: what runs there reaches the management network and nothing else, neither the
rails nor, over this machine's default route, the world.

Every bridge stands in the switch's namespace, so that the root namespace has one interface per lab and neither its
firewall nor a Docker Engine there (which drops what bridges forward) has a say between the nodes.
"""

from __future__ import annotations

import os
from pathlib import Path

from .state import HCAS, INTERFACES, LINKS, Facts
from .system import run

SWITCH = "switch"
CONTROL = "control"


def create(facts: Facts) -> None:
    """Make all namespaces, bridges and links of a lab."""
    for name in (SWITCH, CONTROL, *facts.names):
        path = facts.network(name)
        path.touch()
        run(["unshare", f"--net={path}", "true"])
    _ip(facts.network(SWITCH), [*_bridges(facts), *_cables(facts)])
    run(["ip", "-batch", "-"], "\n".join(_addresses(facts, facts.uplink, f"10.77.{facts.subnet}.1")))
    _ip(facts.network(CONTROL), ["link set lo up", *_addresses(facts, "eth0", facts.control_address)])
    for index, name in enumerate(facts.names):
        lines = ["link set lo up", *_addresses(facts, INTERFACES["mgmt"], facts.address(index, "mgmt"))]
        for rail in HCAS:
            lines += [f"addr add {facts.address(index, rail)}/24 dev {INTERFACES[rail]}"]
            lines += [f"link set {INTERFACES[rail]} up"]
        _ip(facts.network(name), lines)


def _mtu(facts: Facts, link: str) -> int:
    return 1500 if link == "mgmt" else facts.mtu


def _bridges(facts: Facts) -> list[str]:
    lines = []
    for link in LINKS:
        lines += [f"link add {link} mtu {_mtu(facts, link)} type bridge", f"link set {link} addrgenmode none up"]
    return lines


def _cables(facts: Facts) -> list[str]:
    """Return the commands that plug everything into the switch."""
    # Port, bridge, MTU, and the far end with the namespace that it goes to: a path, or a process in it.
    ends: list[tuple[str, str, int, str, str]] = [
        ("uplink", "mgmt", 1500, facts.uplink, str(os.getpid())),
        ("control", "mgmt", 1500, "eth0", str(facts.network(CONTROL))),
    ]
    for index, name in enumerate(facts.names):
        for link, interface in INTERFACES.items():
            far = f"{interface} address {mac(index, link)}"
            ends.append((port(name, link), link, _mtu(facts, link), far, str(facts.network(name))))
    lines = []
    for name, bridge, mtu, far, namespace in ends:
        lines += [f"link add {name} mtu {mtu} type veth peer name {far} mtu {mtu} netns {namespace}"]
        lines += [f"link set {name} master {bridge} addrgenmode none up"]
    return lines


def _addresses(facts: Facts, interface: str, address: str) -> list[str]:
    """Return the commands that put an interface onto the management network, with IPv6 where the kernel has it."""
    lines = [f"addr add {address}/24 dev {interface}", f"link set {interface} up"]
    if Path("/proc/sys/net/ipv6").exists():
        lines.append(f"addr add {facts.address6_of(address)}/64 dev {interface} nodad")
    return lines


def port(name: str, link: str) -> str:
    """Return the switch's port of a node's link: its interface name in the switch's namespace."""
    return f"{name.removeprefix('spark-')}-{link}"


def mac(index: int, link: str) -> str:
    """Return the hardware address of a node's interface; the link-local GIDs are derived from it."""
    return f"4c:bb:47:77:{LINKS.index(link):02x}:{11 + index:02x}"


def connect(facts: Facts, name: str, link: str, up: bool) -> None:
    """Plug a node's link in or pull it out at the switch: the node loses the carrier and keeps its addresses."""
    _ip(facts.network(SWITCH), [f"link set {port(name, link)} {'up' if up else 'down'}"])


def set_address(facts: Facts, name: str, link: str, address: str) -> None:
    """Give a node's interface this IPv4 address in place of those that it has."""
    lines = [f"addr flush dev {INTERFACES[link]}", f"addr add {address}/24 dev {INTERFACES[link]}"]
    _ip(facts.network(name), lines, "-4")


def set_mtu(facts: Facts, name: str, link: str, mtu: int) -> None:
    """Set the MTU of a node's interface, as when someone forgot jumbo frames on one node."""
    _ip(facts.network(name), [f"link set {INTERFACES[link]} mtu {mtu}"])


def shape(facts: Facts, name: str, link: str, rate: str | None) -> None:
    """Limit a node's link to ``rate`` ("100mbit") in both directions; None takes the limit away."""
    for namespace, interface in ((SWITCH, port(name, link)), (name, INTERFACES[link])):
        command = ["nsenter", f"--net={facts.network(namespace)}", "tc", "qdisc"]
        if rate is not None:
            limit = ["tbf", "rate", rate, "burst", "128kb", "latency", "50ms"]
            run([*command, "replace", "dev", interface, "root", *limit])
        elif "tbf" in run([*command, "show", "dev", interface]):
            run([*command, "del", "dev", interface, "root"])


def _ip(namespace: Path, lines: list[str], *options: str) -> None:
    run(["nsenter", f"--net={namespace}", "ip", *options, "-batch", "-"], "\n".join(lines))
