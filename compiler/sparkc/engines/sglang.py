"""SGLang: the same command on every rank, which differ in ``--node-rank`` alone.

There is no headless mode: a rank above 0 opens the API's host and port too, with a server that answers ``/health``
as soon as the rank is loaded and knows no model. It swallows SIGTERM and ends when rank 0 tells it to, so rank 0
starts last and stops first (https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/engine.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments
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
from sparkc.engines.serving import LOOPBACK, api_port, at_port, bound_host, http_probe, own_address
from sparkc.planning.model import Port, RankPlan
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_rule

_INIT = "--dist-init-addr"
_RANK_FLAGS = (_INIT, "--nccl-init-addr", "--nnodes", "--node-rank")
_HOST = "SGLANG_HOST_IP"
_DEFAULT_PORT = 30000
# argparse takes --tp, --dp and the like as abbreviations; --pp it refuses, as it begins other options too.
_SIZES = {
    "tp": ("--tp-size", "--tensor-parallel-size", "--tp", "--tensor-parallel"),
    "pp": ("--pp-size", "--pipeline-parallel-size", "--pipeline-parallel"),
    "dp": ("--dp-size", "--data-parallel-size", "--dp", "--data-parallel"),
}
_ATTENTION = ("--enable-dp-attention",)
_ATTENTION_SIZE = ("--attn-dp-size", "--attention-data-parallel-size")
_OVERRIDES = {
    **_SIZES,
    "port": ("--port",),
    "host": ("--host",),
    "gpu_mem": ("--mem-fraction-static",),
    "max_model_len": ("--context-length",),
}
# Data parallel attention uses the ports after the coordination port.
_ATTENTION_PORTS = 6


class Sglang:
    """SGLang's own server; its router and its disaggregated modes are for ``engine: plain``."""

    name = "sglang"
    counts_world = True
    per_node_env = frozenset({_HOST})

    def program(self, recipe: Recipe) -> tuple[str, ...]:  # noqa: ARG002 - the same for every recipe
        """The module: older images have no ``sglang`` command."""
        return ("python3", "-m", "sglang.launch_server")

    def model_words(self, model: str) -> tuple[str, ...]:
        """The model is an option."""
        return ("--model-path", model)

    def override_flags(self, override: str) -> tuple[str, ...]:
        """See :class:`sparkc.engines.base.Engine`."""
        return _OVERRIDES.get(override, ())

    def implied(self, recipe: Recipe, words: Words) -> Words:
        """Served name, revision, host, port and parallel sizes, in this order, where the words lack them."""
        parallel = recipe.parallel
        return implied_flags(
            words,
            (
                (("--served-model-name",), recipe.served_model_name[:1]),
                (("--revision",), as_texts(hub_revision(recipe))),
                (("--host",), as_texts(recipe.host)),
                (("--port",), as_texts(recipe.port)),
                (_SIZES["tp"], as_texts(parallel.tensor)),
                (_SIZES["pp"], as_texts(parallel.pipeline)),
                (_SIZES["dp"], as_texts(parallel.data)),
            ),
        )

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:  # noqa: ARG002
        """Refuse rank flags and unusable ports, and more than one name."""
        refuse_rank_flags(words, _RANK_FLAGS, report)
        check_port(recipe, words, report)
        if recipe.arguments_only and len(recipe.served_model_name) > 1:
            report.error(
                "SPK316",
                "SGLang serves a model under one name",
                recipe.served_model_name[1].origin.span,
                hint="keep the one that clients use",
            )
        return words

    def api_host(self, words: Words, environment: Mapping[str, Traced[str]]) -> Traced[str]:  # noqa: ARG002
        """Loopback unless told."""
        return bound_host(words, LOOPBACK)

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:
        """Data parallel attention happens inside the tensor parallel group, so its size is not counted."""
        fields = recipe.parallel
        data = read_size(words, _SIZES["dp"], fields.data, report)
        if _attention_is_parallel(words):
            data = Traced(1, from_default("data parallel attention", "it shares the GPUs of tensor parallelism"))
        return World(
            read_size(words, _SIZES["tp"], fields.tensor, report),
            read_size(words, _SIZES["pp"], fields.pipeline, report),
            data,
        )

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Rank flags go last; workers start before rank 0 and wait for it."""
        cluster, head = context.nnodes > 1, context.rank == 0
        words = context.words + (self._rank_flags(context) if cluster else ())
        port = api_port(words, _DEFAULT_PORT)
        # A worker's server says nothing about the model, but the port must be free there too.
        ports = [Port("api" if head else "status", port)]
        if cluster and head:
            first = context.master_port.value
            ports.append(Port("master", first))
            if _attention_is_parallel(words):
                ports += [Port(f"attention {number}", first + number) for number in range(1, _ATTENTION_PORTS + 1)]
        return EngineRank(
            words=words,
            env={_HOST: own_address(context)},
            ports=tuple(ports),
            probe=http_probe(context, port) if head else None,
            deep_probe="/v1/completions" if head else None,
            wave=1 if cluster and head else 0,
        )

    def _rank_flags(self, context: RankContext) -> Words:
        """``--dist-init-addr`` has no port of its own, so it takes the cluster's coordination port."""
        rule = from_rule("sglang rank flags", "SGLang needs them on every rank of several nodes")
        address = context.head.address or Traced("", rule)
        return (
            *arguments.flags(rule, _INIT),
            address.with_value(at_port(address.value, context.master_port.value)),
            *arguments.flags(rule, "--nnodes", str(context.nnodes), "--node-rank", str(context.rank)),
        )

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Same image, model, sizes and rendezvous everywhere; node ranks 0…N-1; no data parallelism over nodes."""
        if len(ranks) < 2:
            return
        commands = [command_words(rank) for rank in ranks]
        flags = [arguments.last_values(words) for words in commands]
        problems = image_problems(ranks)
        problems += differing("the model", [served_model(words) for words in commands])
        for name in (_INIT, "--nnodes", *(name for names in _SIZES.values() for name in names)):
            problems += differing(name, [values.get(name) for values in flags])
        problems += rank_problems(flags)
        wrong = address_problems(ranks, _HOST)
        host = flags[0].get(_INIT, "").rpartition(":")[0].strip("[]")
        if not wrong and host != host_of(ranks[0], _HOST):
            wrong = [f"{_INIT} is not the address of rank 0 ({host_of(ranks[0], _HOST)})"]
        data = arguments.last_value(commands[0], _SIZES["dp"])
        if data is not None and data.value != "1" and not _attention_is_parallel(commands[0]):
            problems.append("SGLang replicates a model on one node only: use --attn-dp-size, or one bundle per node")
        report_problems([*problems, *wrong], at, report)


def _attention_is_parallel(words: Words) -> bool:
    size = arguments.last_value(words, _ATTENTION_SIZE)
    return arguments.has(words, _ATTENTION) or (size is not None and size.value != "1")
