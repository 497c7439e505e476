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
from sparkc.engines.group_checks import (
    address_problems,
    command_words,
    differing,
    host_of,
    image_problems,
    report_problems,
    served_model,
)
from sparkc.engines.serving import api_port, http_probe, is_port
from sparkc.planning.model import Port, RankPlan
from sparkc.reading.source import Span
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.model import Recipe, Script
from sparkc.traced import Traced, from_default, from_rule

_BACKEND = ("--distributed-executor-backend",)
_RANK_FLAGS = ("--nnodes", "-n", "--node-rank", "-r", "--master-addr", "--master-port", "--headless")

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
# Flags whose values all ranks must share; no rank notices another one's, the group hangs until a timeout.
_SHARED = (
    "--nnodes",
    "--master-addr",
    "--master-port",
    "--port",
    *(name for names in _SIZES.values() for name in names),
)
_DEFAULT_PORT = 8000


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
        """Refuse rank flags and unusable ports; drop the executor backend where vLLM must choose it itself.

        Recipes of spark-vllm-docker carry ``--distributed-executor-backend ray`` for its Ray mode, and its
        launcher removes the flag in every other mode: so do we. In other dialects the author meant it.
        """
        found = find_engine([word.value for word in words])
        # What stands before the engine has flags of its own: nice -n 5, numactl -N 0.
        for word in words[found.start if found is not None else 0 :]:
            if arguments.flag_name(word.value) in _RANK_FLAGS:
                report.error(
                    "SPK310",
                    f"{word.value.split('=')[0]} belongs to sparkc: it is different on every rank",
                    word.origin.span,
                    hint="remove it from the recipe; sparkc adds the rank flags itself",
                )
        _check_port(recipe, words, report)
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
            if given.value.isdecimal() and len(given.value) < 7 and int(given.value) > 0:
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
            probe=http_probe(context, api_port(words, _DEFAULT_PORT)) if head else None,
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
        """Same image, model, sizes, port, master everywhere; node ranks 0…N-1; headless exactly on the workers."""
        if len(ranks) < 2:
            return
        commands = [command_words(rank) for rank in ranks]
        flags = [arguments.last_values(words) for words in commands]
        problems = image_problems(ranks)
        problems += differing("the model", [served_model(words) for words in commands])
        for name in _SHARED:
            problems += differing(name, [values.get(name) for values in flags])
        if [values.get("--node-rank") for values in flags] != [str(number) for number in range(len(ranks))]:
            problems.append("--node-rank does not count from 0 without gaps")
        if flags[0].get("--nnodes") != str(len(ranks)):
            problems.append(f"--nnodes is not the number of ranks ({len(ranks)})")
        if ["--headless" in values for values in flags] != [number > 0 for number in range(len(ranks))]:
            problems.append("--headless must stand on every rank but rank 0")
        wrong = address_problems(ranks)
        if not wrong and flags[0].get("--master-addr") != host_of(ranks[0]):
            wrong = [f"--master-addr is not the address of rank 0 ({host_of(ranks[0])})"]
        report_problems([*problems, *wrong], at, report)


def _check_port(recipe: Recipe, words: Words, report: Report) -> None:
    port = arguments.last_value(words, ("--port",))
    # In a script the value may be the shell's to find; the default port is then as good a guess as any.
    if port is not None and not is_port(port.value) and not isinstance(recipe.command, Script):
        report.error(
            "SPK313",
            f"--port must be a number from 1 to 65535, got {port.value!r}",
            port.origin.span,
            hint="write the port that clients use, or give it with --port",
        )


def host_ip(context: RankContext) -> Traced[str]:
    """The address that vLLM binds its message queues to.

    Without it vLLM takes the default route, or dies where the hostname resolves to 127.x.
    """
    if context.nnodes == 1 or context.node.address is None:
        return Traced("127.0.0.1", from_rule("solo address", "one node talks to itself only"))
    return context.node.address
