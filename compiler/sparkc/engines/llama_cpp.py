"""llama.cpp: one server on rank 0, which uses the memory and the GPUs of the other nodes through RPC servers there.

A worker needs no model: rank 0 sends it its part. There are no parallel sizes to count nodes from: a recipe says
``nodes``, or the user ``--nodes`` (https://github.com/ggml-org/llama.cpp/blob/master/tools/rpc/README.md).
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
    engine_start,
    hub_revision,
    implied_flags,
    refuse_rank_flags,
)
from sparkc.engines.group_checks import command_words, image_problems, report_problems
from sparkc.engines.serving import (
    LOOPBACK,
    api_port,
    at_port,
    bound_host,
    http_probe,
    peer_port,
    wait_for_port,
    worker_addresses,
    wrapper,
)
from sparkc.planning.model import Port, RankPlan
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_rule

_RPC = "--rpc"
_DEFAULT_PORT = 8080
_RPC_PORT = 50052
_MAX_SERVERS = 16  # GGML_RPC_MAX_SERVERS
_OVERRIDES = {"port": ("--port",), "host": ("--host",), "max_model_len": ("--ctx-size", "-c")}
# The name changed; an unknown option makes either print its usage and exit 0, so none is tried on it.
_PROGRAMS = ("ggml-rpc-server", "rpc-server")
_START = 'new=$1 old=$2; shift 2; exec "$(command -v "$new" || echo "$old")" "$@"'


class LlamaCpp:
    """llama-server, alone or with RPC servers."""

    name = "llama-cpp"
    counts_world = False
    per_node_env: frozenset[str] = frozenset()

    def program(self, recipe: Recipe) -> tuple[str, ...]:  # noqa: ARG002 - the same for every recipe
        """``llama-server``."""
        return ("llama-server",)

    def model_words(self, model: str) -> tuple[str, ...]:
        """A file in the container by ``-m``; a Hub repository, perhaps with ``:QUANT``, by ``-hf``."""
        return ("-m", model) if model.startswith("/") else ("-hf", model)

    def override_flags(self, override: str) -> tuple[str, ...]:
        """See :class:`sparkc.engines.base.Engine`."""
        return _OVERRIDES.get(override, ())

    def implied(self, recipe: Recipe, words: Words) -> Words:
        """Served names, host and port, in this order, where the words lack them."""
        names = recipe.served_model_name
        alias = (names[0].with_value(",".join(name.value for name in names)),) if names else ()
        return implied_flags(
            words,
            (
                (("--alias", "-a"), alias),
                (("--host",), as_texts(recipe.host)),
                (("--port",), as_texts(recipe.port)),
            ),
        )

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:  # noqa: ARG002
        """Refuse rank flags and unusable ports, and report what llama.cpp does not take from a recipe."""
        refuse_rank_flags(words, (_RPC,), report)
        check_port(recipe, words, report)
        revision = hub_revision(recipe)
        if recipe.arguments_only and revision is not None:
            report.warning(
                "SPK316",
                "llama-server takes no revision: -hf loads the newest files of the repository",
                revision.origin.span,
                hint="put the path of the file in the container under model, and the repository under parent_model",
            )
        return words

    def api_host(self, words: Words, environment: Mapping[str, Traced[str]]) -> Traced[str]:
        """Loopback unless the command or ``LLAMA_ARG_HOST`` says otherwise; the command wins."""
        stated = environment.get("LLAMA_ARG_HOST")
        return stated if stated is not None and not arguments.has(words, ("--host",)) else bound_host(words, LOOPBACK)

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:  # noqa: ARG002
        """One: llama.cpp spreads a model over whatever memory it finds. A size in the recipe is an error."""
        parallel = recipe.parallel
        for size in (parallel.tensor, parallel.pipeline, parallel.data):
            if size is not None and size.value > 1:
                report.error(
                    "SPK314",
                    "llama.cpp has no parallel sizes",
                    size.origin.span,
                    hint="say how many nodes serve with `nodes:`, and how they share with --split-mode",
                )
        one = Traced(1, from_default("parallel size", "llama.cpp has none"))
        return World(one, one, one)

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Workers start first: llama-server ends at once where an RPC server does not answer."""
        if context.rank:
            return self._worker(context)
        port = peer_port(context, _RPC_PORT)
        workers = worker_addresses(context)
        words = context.words
        if workers:
            rule = from_rule("RPC servers", "the workers of this bundle, in the order of ranks")
            words += arguments.flags(rule, _RPC, ",".join(at_port(worker.value, port) for worker in workers))
        number = api_port(words, _DEFAULT_PORT)
        return EngineRank(
            words=words,
            env={},
            ports=(Port("api", number),),
            # The images of llama.cpp's server have curl and no Python.
            probe=http_probe(context, number, curl=True),
            deep_probe="/v1/completions",
            wave=1 if workers else 0,
            steps=tuple(wait_for_port("the RPC server", worker.value, port) for worker in workers),
        )

    def _worker(self, context: RankContext) -> EngineRank:
        """The RPC server beside llama-server, on the fabric's address alone: it trusts whoever connects."""
        rule = from_rule("RPC worker", "rank 0 sends it its part of the model")
        start = engine_start(context.words)
        folder = context.words[start].value.rpartition("/")[0] if context.words else ""
        programs = [f"{folder}/{name}" if folder else name for name in _PROGRAMS]
        port = peer_port(context, _RPC_PORT)
        before = wrapper(context.recipe, self.program(context.recipe))
        words = (
            *arguments.flags(rule, *before, "sh", "-c", _START, "sh", *programs, "-H"),
            context.node.address or Traced("", rule),
            *arguments.flags(rule, "-p", str(port)),
        )
        return EngineRank(
            words=words,
            env={},
            ports=(Port("rpc", port),),
            probe=None,
            deep_probe=None,
            wave=0,
            replaces_command=True,
        )

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Same image everywhere (RPC versions must match), and rank 0 names every worker where it listens."""
        if len(ranks) < 2:
            return
        problems = image_problems(ranks)
        if len(ranks) > _MAX_SERVERS + 1:
            problems.append(f"llama.cpp takes {_MAX_SERVERS} RPC servers, the bundle has {len(ranks) - 1}")
        named = arguments.last_values(command_words(ranks[0])).get(_RPC, "").split(",")
        listening = []
        for rank in ranks[1:]:
            flags = arguments.last_values(command_words(rank))
            host = flags.get("-H", "")
            if ":" in host:
                problems.append(f"llama.cpp's RPC knows no IPv6, which rank {rank.rank} has ({host})")
            listening.append(at_port(host, int(flags.get("-p", "0"))))
        if named != listening:
            problems.append(f"rank 0 expects RPC servers at {', '.join(named)}, they listen at {', '.join(listening)}")
        report_problems(problems, at, report)
