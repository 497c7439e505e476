"""Where the API of a bundle is: its port, and the URL that a client uses."""

from __future__ import annotations

from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.inventory.address import split_ssh
from sparkc.planning.group import Group
from sparkc.planning.model import RankPlan
from sparkc.traced import Traced, from_default


def api_port(group: Group, head: RankPlan, words: Words) -> Traced[int] | None:
    """Return the port on which rank 0 serves HTTP, or None when nothing says that it does.

    ``words`` is rank 0's command before its rank flags.
    """
    number = next((port.number for port in head.ports if port.name == "api"), None)
    if number is None:
        return None
    given = arguments.last_value(words, ("--port",)) or group.command.port
    origin = given.origin if given is not None else from_default("API port", "the engine's own")
    return Traced(number, origin)


def client_url(group: Group, port: Traced[int] | None) -> str | None:
    """Where a client reaches rank 0: its ssh host, as the user's machines know it, and a published port if any."""
    if port is None:
        return None
    target = group.selection.nodes[0].ssh.value
    host = (split_ssh(target) or (None, target, 22))[1]
    published = (text.rpartition(":") for text in group.inputs.overrides.publish)
    number = next(
        (outside.rpartition(":")[2] for outside, _, inside in published if inside == str(port.value)), str(port.value)
    )
    return f"http://{f'[{host}]' if ':' in host else host}:{number}"
