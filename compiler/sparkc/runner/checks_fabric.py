"""Checks of the fabric, on each node and across nodes: addresses, HCAs, GIDs, MTU, and whether peers answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkc.bundle.manifest import RankEntry
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.inventory.address import canonical_address
from sparkc.runner.facts import Hca, NodeFacts
from sparkc.runner.findings import Finding, Looked, on, table

_ROCE2 = "RoCE v2"
_MAPPED = "0000:0000:0000:0000:0000:ffff:"  # an IPv4 address


def check_fabric(looked: Looked, ranks: Sequence[RankEntry], gid: int | None) -> Iterator[Finding]:
    """Yield what is wrong with the fabric of several nodes.

    ``looked`` are those of the ``ranks`` that could be looked at, ``gid`` is the pinned index, None where NCCL chooses.
    """
    for rank, facts in looked:
        yield from _address(rank, facts)
        yield from _hcas(rank, facts)
        yield from _peers(rank, facts, ranks)
    yield from _mtu(looked)
    if gid is not None:
        yield from _pinned_gid(looked, gid)


def roce_index(hca: Hca) -> int | None:
    """Return the index of the HCA's first RoCE v2 GID with an IPv4 address."""
    return next((index for index in sorted(hca.gids) if _is_roce(hca, index)), None)


def _is_roce(hca: Hca, index: int) -> bool:
    address, kind, _ = hca.gids.get(index, ("", "", ""))
    return kind == _ROCE2 and address.startswith(_MAPPED)


def _address(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    if rank.interface is None:
        return
    interface = facts.interfaces.get(rank.interface)
    if interface is None:
        names = sorted(facts.interfaces.keys() - {"lo"})
        hint = did_you_mean(rank.interface, names) or f"there are: {', '.join(names)}"
        yield Finding(
            "error", rank.node, f"there is no interface {rank.interface}", f"{hint} (`interface:` in the inventory)"
        )
        return
    if interface.state == "down":
        yield Finding(
            "error",
            rank.node,
            f"the interface {rank.interface} is down",
            f"is its cable plugged in? {on(rank, 'ip', 'link', 'show', rank.interface)}",
        )
    known = any(interface.addresses for interface in facts.interfaces.values())
    if rank.address is None or not known or _among(rank.address, interface.addresses):
        return
    elsewhere = next((other.name for other in facts.interfaces.values() if _among(rank.address, other.addresses)), None)
    place = f"on {elsewhere}" if elsewhere is not None else "on no interface of the node"
    has = ", ".join(interface.addresses) or "no address"
    yield Finding(
        "error",
        rank.node,
        f"the address {rank.address} is {place}, not on {rank.interface}, which has {has}",
        "correct `address:` or `interface:` in the inventory and compile again, or give the interface its address "
        "(netplan: what nmcli sets is gone after a reboot)",
    )


def _among(address: str, addresses: tuple[str, ...]) -> bool:
    return canonical_address(address) in map(canonical_address, addresses)


def _hcas(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    if rank.hcas and not facts.rdma:
        yield Finding(
            "error",
            rank.node,
            "there is no /dev/infiniband, so no RDMA",
            on(rank, "sudo", "modprobe", "ib_uverbs", terminal=True),
        )
    for name in rank.hcas:
        hca = facts.hcas.get(name)
        if hca is None:
            hint = did_you_mean(name, facts.hcas) or f"there are: {', '.join(facts.hcas) or 'none'}"
            yield Finding("error", rank.node, f"there is no HCA {name}", f"{hint} (`hcas:` in the inventory)")
        elif hca.state != "ACTIVE":
            yield Finding(
                "error",
                rank.node,
                f"the HCA {name} is {hca.state or 'in no state'}, not ACTIVE",
                f"is its cable plugged in? {on(rank, 'ibdev2netdev')}; leave out of `hcas:` what has no cable",
            )
        elif roce_index(hca) is None and ":" not in (rank.address or ""):
            yield Finding(
                "warning",
                rank.node,
                f"the HCA {name} has no RoCE v2 GID with an IPv4 address, so NCCL may not use it",
                "give its interface an address, in a subnet of its own",
            )


def _peers(rank: RankEntry, facts: NodeFacts, ranks: Sequence[RankEntry]) -> Iterator[Finding]:
    names = {peer.address: peer.node for peer in ranks if peer.address is not None}
    for address in facts.unreachable:
        yield Finding(
            "error",
            rank.node,
            f"{names.get(address, 'a peer')} does not answer on {address}",
            f"{on(rank, 'ping', '-c', '3', address)}; is it on, and does no firewall stand between?",
        )
    for address in facts.narrow:
        interface = facts.interfaces.get(rank.interface or "")
        mtu = interface.mtu if interface is not None else 0
        size = str(mtu - (48 if ":" in address else 28))
        yield Finding(
            "error",
            rank.node,
            f"{names.get(address, 'a peer')} answers on {address}, but not to packets of {rank.interface}'s MTU, {mtu}",
            f"set one MTU on both ends and on the switch: {on(rank, 'ping', '-M', 'do', '-s', size, address)}",
        )


def _mtu(looked: Looked) -> Iterator[Finding]:
    """Compare the MTU of the interfaces that the group talks through: a narrower one fragments, or fails silently."""
    rows = {}
    seen = set()
    for rank, facts in looked:
        names = {rank.interface} | {
            gid[2] for name in rank.hcas if name in facts.hcas for gid in facts.hcas[name].gids.values()
        }
        found = {name: facts.interfaces[name].mtu for name in sorted(filter(None, names)) if name in facts.interfaces}
        seen |= set(found.values())
        rows[rank.node] = [", ".join(f"{name} {mtu}" for name, mtu in found.items()) or "unknown"]
    if len(seen) > 1:
        yield Finding(
            "error",
            None,
            f"the MTU is not the same everywhere: {', '.join(map(str, sorted(seen)))}",
            "set one MTU (9000) on all ports, in netplan; firmware updates and nmcli lose it",
            table(rows),
        )


def _pinned_gid(looked: Looked, gid: int) -> Iterator[Finding]:
    """Compare a pinned NCCL_IB_GID_INDEX with where each HCA has its IPv4 RoCE v2 GID: it drifts after link flaps."""
    rows = {}
    wrong = False
    for rank, facts in looked:
        cells = []
        for name in rank.hcas:
            hca = facts.hcas.get(name)
            if hca is None:
                continue
            good = _is_roce(hca, gid)
            wrong = wrong or not good
            index = roce_index(hca)
            at = "none" if index is None else str(gid if good else index)
            cells.append(f"{name} {at}{'' if good else ' !'}")
        rows[rank.node] = [", ".join(cells)]
    if wrong:
        yield Finding(
            "error",
            None,
            f"the GID index is pinned to {gid}, but not every HCA has its IPv4 RoCE v2 GID there",
            "write `gid: auto` into the inventory and compile again, or add the addresses anew in the same order",
            table(rows),
        )
