"""vLLM: on one node, and on several in its native multi-node mode (``--nnodes``, vLLM 0.11.1 and newer).

Every rank runs the same command plus its own rank flags; workers are ``--headless`` and serve no HTTP. A rank
above 0 without ``--headless`` dies at the first collective call, and ``--headless`` on rank 0 hangs the whole
group without an error, so these flags belong to sparkc alone (https://github.com/vllm-project/vllm/issues/32136).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments, vllm_data_parallel
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext, World
from sparkc.engines.command_checks import (
    as_texts,
    check_port,
    hub_revision,
    implied_flags,
    read_size,
    refuse_rank_flags,
)
from sparkc.engines.group_checks import (
    address_problems,
    command_words,
    differing,
    host_of,
    image_problems,
    rank_problems,
    report_problems,
    served_model,
)
from sparkc.engines.serving import ALL_ADDRESSES, api_port, bound_host, http_probe, own_address
from sparkc.planning.model import Port, RankPlan
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_rule

_BACKEND = ("--distributed-executor-backend",)
# What spark-vllm-docker's launcher starts: it removes the executor backend itself.
_LAUNCHER_DIALECTS = ("spark-vllm-docker", "launch-script")
_RANK_FLAGS = ("--nnodes", "-n", "--node-rank", "-r", "--master-addr", "--master-port", "--headless")
_CONTEXT = ("--prefill-context-parallel-size", "-pcp")
_HOST = "VLLM_HOST_IP"

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
    per_node_env = frozenset({_HOST})

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
        parallel = recipe.parallel
        return implied_flags(
            words,
            (
                (("--served-model-name",), recipe.served_model_name),
                (("--revision",), as_texts(hub_revision(recipe))),
                (("--host",), as_texts(recipe.host)),
                (("--port",), as_texts(recipe.port)),
                (_SIZES["tp"], as_texts(parallel.tensor)),
                (_SIZES["pp"], as_texts(parallel.pipeline)),
                (_SIZES["dp"], as_texts(parallel.data)),
            ),
        )

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:
        """Refuse rank flags and unusable ports; drop the executor backend where vLLM must choose it itself.

        Recipes of spark-vllm-docker carry ``--distributed-executor-backend ray`` for its Ray mode, and its
        launcher removes the flag in every other mode: so do we. In other dialects the author meant it.
        """
        refuse_rank_flags(words, (*_RANK_FLAGS, *vllm_data_parallel.OWNED), report)
        check_port(recipe, words, report)
        vllm_data_parallel.check_layout(words, nnodes, report)
        backend = arguments.last_value(words, _BACKEND)
        if backend is None or self._keeps_backend(recipe, backend, nnodes, report):
            return words
        return arguments.without(words, _BACKEND)

    def _keeps_backend(self, recipe: Recipe, backend: Traced[str], nnodes: int, report: Report) -> bool:
        if recipe.dialect in _LAUNCHER_DIALECTS:
            return False
        if nnodes > 1 and backend.value == "ray":
            report.error(
                "SPK311",
                "vLLM's native multi-node mode does not run on the ray backend",
                backend.origin.span,
                hint="remove --distributed-executor-backend, or compile with --ray",
            )
        return nnodes > 1 or backend.value != "ray"

    def api_host(self, words: Words, environment: Mapping[str, Traced[str]]) -> Traced[str]:  # noqa: ARG002
        """All addresses of the node unless told."""
        return bound_host(words, ALL_ADDRESSES)

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:
        """See :class:`sparkc.engines.base.Engine`; argparse keeps the last of repeated flags, so do we."""
        fields = recipe.parallel
        return World(
            read_size(words, _SIZES["tp"], fields.tensor, report),
            read_size(words, _SIZES["pp"], fields.pipeline, report),
            read_size(words, _SIZES["dp"], fields.data, report),
            read_size(words, _CONTEXT, None, report) if arguments.has(words, _CONTEXT) else None,
        )

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Rank flags go last, as the reference launcher puts them; workers start before rank 0.

        Rank 0 serves HTTP, and every other rank where the recipe asks for a load balancer before the nodes.
        """
        cluster = context.nnodes > 1
        head = context.rank == 0
        layout = vllm_data_parallel.layout(context.words) if cluster else "native"
        serves = head or vllm_data_parallel.every_rank_serves(layout)
        words = context.words
        if cluster:
            words += self._rank_flags(context) if layout == "native" else vllm_data_parallel.rank_flags(context, layout)
        ports = [Port("api", api_port(words, _DEFAULT_PORT))] if serves else []
        if cluster and head:
            ports.append(Port("master", context.master_port.value))
        return EngineRank(
            words=words,
            env={_HOST: own_address(context)},
            ports=tuple(ports),
            probe=http_probe(context, api_port(words, _DEFAULT_PORT)) if serves else None,
            deep_probe="/v1/completions" if serves else None,
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
        wrong = address_problems(ranks, _HOST)
        layout = vllm_data_parallel.layout(commands[0])
        if layout != "native":
            problems += vllm_data_parallel.group_problems(commands, layout, "" if wrong else host_of(ranks[0], _HOST))
            report_problems([*problems, *wrong], at, report)
            return
        problems += rank_problems(flags)
        if ["--headless" in values for values in flags] != [number > 0 for number in range(len(ranks))]:
            problems.append("--headless must stand on every rank but rank 0")
        if not wrong and flags[0].get("--master-addr") != host_of(ranks[0], _HOST):
            wrong = [f"--master-addr is not the address of rank 0 ({host_of(ranks[0], _HOST)})"]
        report_problems([*problems, *wrong], at, report)
