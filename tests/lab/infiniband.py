"""A node's ``/sys/class/infiniband``: plain files that say what a Spark's two RoCE devices say."""

from __future__ import annotations

import ipaddress
import shutil
from pathlib import Path

from .network import mac
from .state import HCAS, INTERFACES, Facts

NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
V1, V2 = "IB/RoCE v1", "RoCE v2"


def write(folder: Path, facts: Facts, index: int) -> None:
    """Write the devices of a node (counted from 0) to ``folder``, in place of what is there."""
    for entry in folder.iterdir():
        shutil.rmtree(entry)
    for link, hca in HCAS.items():
        device = folder / hca
        port = device / "ports/1"
        interface = INTERFACES[link]
        (device / "device/net" / interface).mkdir(parents=True)
        for name in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
            (port / name).mkdir(parents=True)
        _file(device / "node_type", "1: CA")
        _file(port / "phys_state", "5: LinkUp")
        _file(port / "rate", "200 Gb/sec (2X NDR)")
        _file(port / "link_layer", "Ethernet")
        set_state(folder, hca, active=True)
        set_gids(folder, hca, interface, table(mac(index, link), facts.address(index, link)))


def set_state(folder: Path, hca: str, active: bool) -> None:
    """Set the state of a device's port."""
    _file(folder / hca / "ports/1/state", "4: ACTIVE" if active else "1: DOWN")


def set_gids(folder: Path, hca: str, interface: str, gids: list[tuple[str, str]]) -> None:
    """Set the GID table of a device: GID and type per index; up to index 5 the rest is empty.

    The kernel has type and interface files at empty indexes too, but reading them fails. Here they are absent.
    """
    port = folder / hca / "ports/1"
    for path in (port / "gid_attrs").glob("*/*"):
        path.unlink()
    for number in range(max(6, len(gids))):
        gid, kind = gids[number] if number < len(gids) else (NO_GID, "")
        _file(port / "gids" / str(number), gid)
        if kind:
            _file(port / "gid_attrs/types" / str(number), kind)
            _file(port / "gid_attrs/ndevs" / str(number), interface)


def table(hardware: str, address: str) -> list[tuple[str, str]]:
    """Return the GIDs of an interface: its link-local and its IPv4 address, each for RoCE v1 and v2."""
    return [(gid, kind) for gid in (link_local(hardware), mapped(address)) for kind in (V1, V2)]


def link_local(hardware: str) -> str:
    """Return the GID of an interface's link-local address."""
    parts = [int(part, 16) for part in hardware.split(":")]
    parts[0] ^= 2  # the universal/local bit of EUI-64
    words = bytes([0xFE, 0x80, *[0] * 6, *parts[:3], 0xFF, 0xFE, *parts[3:]])
    return ipaddress.IPv6Address(words).exploded


def mapped(address: str) -> str:
    """Return the GID of an IPv4 address."""
    return ipaddress.IPv6Address(f"::ffff:{address}").exploded


def _file(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")
