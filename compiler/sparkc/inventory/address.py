"""Fabric addresses and ssh targets: what is acceptable, and when two spellings mean one machine.

Addresses become rendezvous addresses (``--master-addr``, ``VLLM_HOST_IP``), so they must be IP addresses: a name
that the control machine resolves may resolve to nothing, or to 127.0.1.1, inside a container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkc.patterns import pattern
from sparkc.record import dataclass

if TYPE_CHECKING:
    from ipaddress import IPv6Address

_DOTTED_QUAD = pattern(r"(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})")
_SSH_TARGET = pattern(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._-]*)@)?"
    r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]+)\]|(?P<bare>[0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)|(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]*))"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)

_UNSPECIFIED = "is the unspecified address, not one of this machine's"
_LOOPBACK = "is a loopback address: every node would talk to itself"
_LINK_LOCAL = "is link-local: it may be another one after the next boot"
_MULTICAST = "is a multicast or reserved address, not one of this machine's"


@dataclass(frozen=True)
class SshTarget:
    """A machine as ssh reaches it: ``host`` without brackets; ``user`` and ``port`` are None where none is named."""

    user: str | None
    host: str
    port: int | None


def address_problem(text: str) -> str | None:
    """Return why ``text`` cannot be a node's fabric address (a clause for "address 'x' …"), or None if it can."""
    octets = _octets(text)
    if octets is not None:
        return _ipv4_problem(octets)
    return _ipv6_problem(text) if ":" in text else "is not an IP address"


def canonical_address(text: str) -> str:
    """Return one spelling per address value (``FD00::0:1`` and ``fd00::1`` are the same); other text case-folded."""
    if _octets(text) is None and ":" in text:
        address = _ipv6(text)
        if address is not None:
            return str(address.ipv4_mapped or address)
    return text.casefold()


def split_ssh(text: str) -> SshTarget | None:
    """Split ``[user@]host[:port]``; None if ``text`` is no ssh target.

    A bare IPv6 address is a host; a port needs brackets around it (``[fd00::2]:22``), as for ssh itself.
    """
    match = _SSH_TARGET.fullmatch(text)
    if match is None or int(match["port"] or 22) > 65535:
        return None
    literal = match["bracketed"] or match["bare"]
    if literal is not None and _ipv6(literal) is None:
        return None
    return SshTarget(match["user"], literal or match["host"], int(match["port"]) if match["port"] else None)


def canonical_ssh(text: str) -> str:
    """Return one spelling per machine: without user, host case-folded or as an address value, port 22 left out."""
    target = split_ssh(text)
    if target is None:
        return text.casefold()
    host = canonical_address(target.host)
    return host if target.port in (None, 22) else f"{host} port {target.port}"


def _octets(text: str) -> tuple[int, ...] | None:
    match = _DOTTED_QUAD.fullmatch(text)
    octets = tuple(int(part) for part in match.groups()) if match else ()
    return octets if octets and max(octets) <= 255 else None


def _ipv4_problem(octets: tuple[int, ...]) -> str | None:
    first, second = octets[:2]
    if first == 0:
        return _UNSPECIFIED
    if first == 127:
        return _LOOPBACK
    if (first, second) == (169, 254):
        return _LINK_LOCAL
    return _MULTICAST if first >= 224 else None


def _ipv6_problem(text: str) -> str | None:
    address = _ipv6(text)
    if address is None:
        return "is not an IP address"
    if address.ipv4_mapped is not None:
        return _ipv4_problem(tuple(address.ipv4_mapped.packed))
    problems = (
        (address.is_unspecified, _UNSPECIFIED),
        (address.is_loopback, _LOOPBACK),
        (address.is_link_local or address.scope_id is not None, _LINK_LOCAL),
        (address.is_multicast, _MULTICAST),
    )
    return next((problem for found, problem in problems if found), None)


def _ipv6(text: str) -> IPv6Address | None:
    from ipaddress import IPv6Address  # 2 ms that inventories with IPv4 addresses, nearly all, need not pay

    try:
        return IPv6Address(text)
    except ValueError:
        return None
