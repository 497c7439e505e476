"""Where the API of a bundle is: its port, and the URLs that clients use."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.serving import LOOPBACK, at_port, is_loopback
from sparkc.inventory.address import split_ssh
from sparkc.planning.group import Group
from sparkc.planning.model import Endpoint, RankPlan
from sparkc.traced import Traced, from_default


def api_port(group: Group, head: RankPlan, words: Words) -> Traced[int] | None:
    """Return the port on which rank 0 serves HTTP, or None when nothing says that it does.

    ``words`` is rank 0's command before its rank flags.
    """
    number = _port_of(head)
    if number is None:
        return None
    given = arguments.last_value(words, ("--port",)) or group.command.port
    origin = given.origin if given is not None else from_default("API port", "the engine's own")
    return Traced(number, origin)


def endpoints(ranks: Sequence[RankPlan], host: str, publish: Sequence[str]) -> tuple[Endpoint, ...]:
    """Return where clients reach each rank that serves HTTP on ``host``; ``publish`` holds the ports given with ``-p``.

    A node is named as in its ssh target, which the user's machines know; a published port replaces the engine's.
    """
    return tuple(
        _endpoint(rank, number, host, publish) for rank in ranks for number in (_port_of(rank),) if number is not None
    )


def _endpoint(rank: RankPlan, number: int, host: str, publish: Sequence[str]) -> Endpoint:
    name = rank.node.name.value
    if publish:
        return _published(rank, number, publish)
    if is_loopback(host):
        return Endpoint(name, f"http://{at_port(LOOPBACK, number)}", local=True)
    return Endpoint(name, f"http://{at_port(_ssh_host(rank), number)}", local=False)


def _published(rank: RankPlan, number: int, publish: Sequence[str]) -> Endpoint:
    pairs = (text.rpartition(":") for text in publish)
    outside = next((before for before, _, inside in pairs if inside == str(number)), str(number))
    address, _, port = outside.rpartition(":")
    local = is_loopback(address)
    return Endpoint(rank.node.name.value, f"http://{at_port(address if local else _ssh_host(rank), int(port))}", local)


def _port_of(rank: RankPlan) -> int | None:
    return next((port.number for port in rank.ports if port.name == "api"), None)


def _ssh_host(rank: RankPlan) -> str:
    ssh = rank.node.ssh.value
    target = split_ssh(ssh)
    return ssh if target is None else target.host
