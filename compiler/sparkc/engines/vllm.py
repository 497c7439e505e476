"""vLLM: on one node, and on several in its native multi-node mode (``--nnodes``, vLLM 0.11.1 and newer).

Every rank runs the same command plus its own rank flags; workers are ``--headless`` and serve no HTTP. A rank
above 0 without ``--headless`` dies at the first collective call, and ``--headless`` on rank 0 hangs the whole
group without an error, so these flags belong to sparkc alone (https://github.com/vllm-project/vllm/issues/32136).
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext, World
from sparkc.planning.model import Exec, Port, Probe, RankPlan
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_rule

_BACKEND = ("--distributed-executor-backend",)
_NNODES, _NODE_RANK = ("--nnodes", "-n"), ("--node-rank", "-r")
_MASTER_ADDR, _MASTER_PORT, _HEADLESS = ("--master-addr",), ("--master-port",), ("--headless",)
_RANK_FLAGS = (*_NNODES, *_NODE_RANK, *_MASTER_ADDR, *_MASTER_PORT, *_HEADLESS)

_SIZES = {
    "tp": ("--tensor-parallel-size", "-tp", "--tensor-parallel"),
    "pp": ("--pipeline-parallel-size", "-pp", "--pipeline-parallel"),
    "dp": ("--data-parallel-size", "-dp"),
}
_OVERRIDES = {
    **_SIZES,
    "port": ("--port",),
    "host": ("--host",),
    # The -gb flag comes from a modification of vLLM that reserves fixed GiB; an override keeps the recipe's unit.
    "gpu_mem": ("--gpu-memory-utilization", "--gpu-memory-utilization-gb"),
    "max_model_len": ("--max-model-len",),
}
_DEFAULT_PORT = 8000
_WILDCARDS = ("", "0.0.0.0", "::", "[::]")  # noqa: S104 - compared with, not bound to
_LOAD_BUDGET = 1800  # first starts compile and tune kernels: up to 36 minutes were reported after a topology change


class Vllm:
    """The default engine."""

    name = "vllm"
    counts_world = True
    per_node_env = frozenset({"VLLM_HOST_IP"})

    def program(self, recipe: Recipe) -> tuple[str, ...]:  # noqa: ARG002 - the same for every recipe
        """``vllm serve``."""
        return ("vllm", "serve")

    def model_words(self, model: str) -> tuple[str, ...]:
        """The model is positional; ``--model`` is deprecated."""
        return (model,)

    def override_flags(self, override: str) -> tuple[str, ...]:
        """See :class:`sparkc.engines.base.Engine`."""
        return _OVERRIDES.get(override, ())

    def implied(self, recipe: Recipe, words: Words) -> Words:
        """Served name, revision, host, port and parallel sizes, in this order, where the words lack them."""
        added: list[Traced[str]] = []

        def add(names: Sequence[str], *values: Traced[str]) -> None:
            if values and not arguments.has(words, names):
                added.extend((values[0].with_value(names[0]), *values))

        add(("--served-model-name",), *recipe.served_model_name)
        if recipe.revision is not None and recipe.model is not None and not recipe.model.value.startswith("/"):
            add(("--revision",), recipe.revision)
        if recipe.host is not None:
            add(("--host",), recipe.host)
        if recipe.port is not None:
            add(("--port",), recipe.port.with_value(str(recipe.port.value)))
        for key, size in (
            ("tp", recipe.parallel.tensor),
            ("pp", recipe.parallel.pipeline),
            ("dp", recipe.parallel.data),
        ):
            if size is not None:
                add(_SIZES[key], size.with_value(str(size.value)))
        return tuple(added)

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:
        """Refuse rank flags in the recipe; drop the executor backend where vLLM must choose it itself.

        Recipes of spark-vllm-docker carry ``--distributed-executor-backend ray`` for its Ray mode, and its
        launcher removes the flag in every other mode: so do we. In other dialects the author meant it.
        """
        for word in words:
            if arguments.flag_name(word.value) in _RANK_FLAGS:
                report.error(
                    "SPK310",
                    f"{word.value.split('=')[0]} belongs to sparkc: it is different on every rank",
                    word.origin.span,
                    hint="remove it from the recipe; sparkc adds the rank flags itself",
                )
        backend = arguments.last_value(words, _BACKEND)
        if backend is None or self._keeps_backend(recipe, backend, nnodes, report):
            return words
        return arguments.without(words, _BACKEND)

    def _keeps_backend(self, recipe: Recipe, backend: Traced[str], nnodes: int, report: Report) -> bool:
        if recipe.dialect == "spark-vllm-docker":
            return False
        if nnodes > 1 and backend.value == "ray":
            report.error(
                "SPK311",
                "vLLM's native multi-node mode does not run on the ray backend",
                backend.origin.span,
                hint="remove --distributed-executor-backend, or compile with --ray",
            )
        return nnodes > 1 or backend.value != "ray"

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:
        """See :class:`sparkc.engines.base.Engine`; argparse keeps the last of repeated flags, so do we."""
        fields = recipe.parallel

        def size(key: str, field: Traced[int] | None) -> Traced[int]:
            given = arguments.last_value(words, _SIZES[key])
            if given is None:
                return field or Traced(1, from_default("parallel size", "vLLM's default is one"))
            if given.value.isdecimal() and int(given.value) > 0:
                return given.with_value(int(given.value))
            report.error(
                "SPK312",
                f"{_SIZES[key][0]} must be a whole number above 0, got {given.value!r}",
                given.origin.span,
                hint="sparkc counts nodes from it: write a number, or a parameter that is one",
            )
            return Traced(1, given.origin)

        return World(size("tp", fields.tensor), size("pp", fields.pipeline), size("dp", fields.data))

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Rank flags go last, as the reference launcher puts them; workers start before rank 0."""
        cluster = context.nnodes > 1
        head = context.rank == 0
        words = context.words + (self._rank_flags(context) if cluster else ())
        ports = [Port("api", api_port(words, _DEFAULT_PORT))] if head else []
        if cluster and head:
            ports.append(Port("master", context.master_port.value))
        return EngineRank(
            words=words,
            env={"VLLM_HOST_IP": host_ip(context)},
            ports=tuple(ports),
            probe=http_probe(context, _DEFAULT_PORT) if head else None,
            deep_probe="/v1/completions" if head else None,
            wave=1 if cluster and head else 0,
        )

    def _rank_flags(self, context: RankContext) -> Words:
        address = context.head.address
        rule = from_rule("vllm rank flags", "vLLM's native multi-node mode needs them on every rank")
        words = [
            *arguments.flags(rule, "--nnodes", str(context.nnodes), "--node-rank", str(context.rank), "--master-addr"),
            Traced("", rule) if address is None else address,
            *arguments.flags(rule, "--master-port"),
            context.master_port.with_value(str(context.master_port.value)),
        ]
        if context.rank:
            words.append(Traced("--headless", from_rule("headless workers", "only rank 0 serves HTTP")))
        return tuple(words)

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Same image, model, port, master everywhere; node ranks 0…N-1; headless exactly on the workers."""
        if len(ranks) < 2:
            return
        commands = [engine_words(rank) for rank in ranks]
        problems: list[str] = []

        def same(what: str, values: Sequence[str | None]) -> None:
            if len(set(values)) > 1:
                problems.append(f"{what} differs between ranks: {', '.join(map(repr, values))}")

        same("the image", [rank.container.image.value for rank in ranks])
        for names in (_NNODES, _MASTER_ADDR, _MASTER_PORT, ("--port",)):
            same(names[0], [_value(words, names) for words in commands])
        if [_value(words, _NODE_RANK) for words in commands] != [str(rank.rank) for rank in ranks]:
            problems.append("--node-rank does not count from 0 without gaps")
        if [arguments.has(words, _HEADLESS) for words in commands] != [rank.rank > 0 for rank in ranks]:
            problems.append("--headless must stand on every rank but rank 0")
        hosts = [
            rank.environment["VLLM_HOST_IP"].value if "VLLM_HOST_IP" in rank.environment else None for rank in ranks
        ]
        if len(set(hosts)) < len(hosts) or any(host is None or host.startswith("127.") for host in hosts):
            problems.append(f"VLLM_HOST_IP must be each node's own address, got {', '.join(map(repr, hosts))}")
        elif hosts[0] != _value(commands[0], _MASTER_ADDR):
            problems.append(f"--master-addr is not the address of rank 0 ({hosts[0]})")
        for problem in problems:
            report.error(
                "SPK320", f"the ranks would not find each other: {problem}", at, hint="check env and args of the recipe"
            )


def engine_words(rank: RankPlan) -> Words:
    """Return the engine's words of a rank, also from inside a script."""
    process = rank.process
    return process.argv if isinstance(process, Exec) else process.engine_argv


def _value(words: Words, names: Sequence[str]) -> str | None:
    value = arguments.last_value(words, names)
    return value.value if value is not None else None


def host_ip(context: RankContext) -> Traced[str]:
    """The address that vLLM binds its message queues to.

    Without it vLLM takes the default route, or dies where the hostname resolves to 127.x.
    """
    if context.nnodes == 1 or context.node.address is None:
        return Traced("127.0.0.1", from_rule("solo address", "one node talks to itself only"))
    return context.node.address


def api_port(words: Words, default: int) -> int:
    """Return the number after ``--port``, or the engine's default."""
    given = arguments.last_value(words, ("--port",))
    return int(given.value) if given is not None and given.value.isdecimal() else default


def http_probe(context: RankContext, default_port: int) -> Probe:
    """A probe with the Python that every engine image has; an address to bind is probed there."""
    health = context.recipe.health
    host = arguments.last_value(context.words, ("--host",))
    name = "127.0.0.1" if host is None or host.value in _WILDCARDS else host.value
    port = health.port.value if health.port is not None else api_port(context.words, default_port)
    path = health.path.value if health.path is not None else "/health"
    url = f"http://{f'[{name}]' if ':' in name else name}:{port}{path}"
    start = health.start_period.value if health.start_period is not None else _LOAD_BUDGET
    code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=4)"
    return Probe(test=("CMD", "python3", "-c", code, url), url=url, start_period=start)
