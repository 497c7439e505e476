"""How ranks are reached: the HTTP server's port and probe, addresses, and steps that wait for a peer's port."""

from __future__ import annotations

from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import RankContext
from sparkc.planning.model import Probe, Step
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_rule

LOAD_BUDGET = 1800  # first starts compile and tune kernels: up to 36 minutes were reported after a topology change
PROBE_INTERVAL = 10
PEER_DEADLINE = 600  # seconds for containers of all nodes to come up, mods included
ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - what engines bind to, not we
LOOPBACK = "127.0.0.1"
_WILDCARDS = ("", ALL_ADDRESSES, "::")


def is_port(text: str) -> bool:
    """True for a decimal TCP port."""
    return text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) < 65536


def api_port(words: Words, default: int) -> int:
    """Return the number after ``--port``, or the engine's default."""
    given = arguments.last_value(words, ("--port",))
    return int(given.value) if given is not None and is_port(given.value) else default


def bound_host(words: Words, default: str) -> Traced[str]:
    """Return the address after ``--host``, or the engine's default."""
    given = arguments.last_value(words, ("--host",))
    return given if given is not None else Traced(default, from_default("API address", "the engine's own"))


def is_loopback(host: str) -> bool:
    """True for an address that only programs on the same node reach (in a container of its own: inside it)."""
    name = host.removeprefix("[").removesuffix("]")
    return name in ("localhost", "::1") or name.startswith("127.")


def http_probe(context: RankContext, port: int, *, curl: bool = False) -> Probe:
    """Return a probe with the Python that engine images have, or with curl for those without.

    It goes to the address that ``--host`` binds, else to loopback. ``port`` is the server's; the recipe's
    ``health`` can name another one, a path, a start period and an interval.
    """
    health = context.recipe.health
    host = arguments.last_value(context.words, ("--host",))
    name = "" if host is None else host.value.removeprefix("[").removesuffix("]")
    if name in _WILDCARDS:
        name = LOOPBACK
    if health.port is not None:
        port = health.port.value
    path = health.path.value if health.path is not None else "/health"
    url = f"http://{at_port(name, port)}{path}"
    start = health.start_period.value if health.start_period is not None else LOAD_BUDGET
    code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=4)"
    program = ("curl", "-fsS", "-m", "4", "-o", "/dev/null") if curl else ("python3", "-c", code)
    interval = health.interval.value if health.interval is not None else PROBE_INTERVAL
    return Probe(test=("CMD", *program, url), url=url, start_period=start, interval=interval)


def at_port(host: str, port: int) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def own_address(context: RankContext) -> Traced[str]:
    """Return the address at which other ranks reach this one; one node talks to itself only."""
    if context.nnodes == 1 or context.node.address is None:
        return Traced(LOOPBACK, from_rule("solo address", "one node talks to itself only"))
    return context.node.address


def worker_addresses(context: RankContext) -> tuple[Traced[str], ...]:
    """Return the addresses of the ranks above 0, in order."""
    return tuple(node.address for node in context.nodes[1:] if node.address is not None)


def peer_port(context: RankContext, customary: int) -> int:
    """Return the port on which workers wait for rank 0: ``--master-port`` if given, else the engine's customary one."""
    given = context.master_port
    return given.value if given.origin.kind == "flag" else customary


def wait_for_port(what: str, host: str, port: int) -> Step:
    """Return the step that waits until a peer listens.

    bash opens the connection, because images without Python have it too; it would wait minutes for a host that is down.
    """
    test = ("timeout", "4", "bash", "-c", ': >"/dev/tcp/$0/$1"', host, str(port))
    return Step(f"wait for {what} at {at_port(host, port)}", test, PEER_DEADLINE)


def wrapper(recipe: Recipe, program: tuple[str, ...]) -> tuple[str, ...]:
    """Return the recipe's entrypoint, which may be what sets paths, unless it is the engine's ``program`` itself."""
    words = recipe.entrypoint.value if recipe.entrypoint is not None else None
    return words if words and words[-1] != program[-1] else ()
