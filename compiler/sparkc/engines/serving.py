"""How the HTTP server of an engine is reached: its port, and a probe inside the container."""

from __future__ import annotations

from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import RankContext
from sparkc.planning.model import Probe

LOAD_BUDGET = 1800  # first starts compile and tune kernels: up to 36 minutes were reported after a topology change
_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


def is_port(text: str) -> bool:
    """True for a decimal TCP port."""
    return text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) < 65536


def api_port(words: Words, default: int) -> int:
    """Return the number after ``--port``, or the engine's default."""
    given = arguments.last_value(words, ("--port",))
    return int(given.value) if given is not None and is_port(given.value) else default


def http_probe(context: RankContext, port: int) -> Probe:
    """Return a probe with the Python that every engine image has.

    It goes to the address that ``--host`` binds, else to loopback. ``port`` is the server's; the recipe's
    ``health`` can name another one, a path and a start period.
    """
    health = context.recipe.health
    host = arguments.last_value(context.words, ("--host",))
    name = "" if host is None else host.value.removeprefix("[").removesuffix("]")
    if name in _WILDCARDS:
        name = "127.0.0.1"
    if health.port is not None:
        port = health.port.value
    path = health.path.value if health.path is not None else "/health"
    url = f"http://{f'[{name}]' if ':' in name else name}:{port}{path}"
    start = health.start_period.value if health.start_period is not None else LOAD_BUDGET
    code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=4)"
    return Probe(test=("CMD", "python3", "-c", code, url), url=url, start_period=start)
