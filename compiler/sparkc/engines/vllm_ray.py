"""vLLM on Ray: a Ray cluster over all ranks, and one ``vllm serve`` on the head.

Rank 0 starts the Ray head in the background, waits until every rank has joined, and serves. Each worker waits
for the head's port and then stays in the foreground as a Ray node. The per-node environment must be on the
``ray start`` process of a worker, and it is: the whole container has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext
from sparkc.engines.group_checks import address_problems, command_words, host_of, image_problems, report_problems
from sparkc.engines.serving import at_port, own_address, wrapper
from sparkc.engines.vllm import Vllm
from sparkc.planning.model import Port, RankPlan, Step
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.record import replace
from sparkc.traced import Traced, from_default, from_rule

_BACKEND = ("--distributed-executor-backend",)
_HOST = "VLLM_HOST_IP"
_JOIN_DEADLINE = 600
_OBJECT_STORE = "1073741824"

# Unified memory: Ray's defaults would take a third of it for objects and kill workers that the model needs.
_RAY_START = ("--object-store-memory", _OBJECT_STORE, "--num-cpus", "2", "--disable-usage-stats")
_ALL_JOINED = (
    "import sys, ray; ray.init(address='auto', log_to_driver=False); "
    "sys.exit(sum(node['Alive'] for node in ray.nodes()) < int(sys.argv[1]))"
)
_PORT_OPEN = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=4)"


class VllmRay(Vllm):
    """vLLM with Ray as its executor; the same flags and sizes as :class:`Vllm`, another start."""

    name = "vllm-ray"
    per_node_env = frozenset({_HOST, "RAY_NODE_IP_ADDRESS", "RAY_OVERRIDE_NODE_IP_ADDRESS"})

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:
        """On several nodes the backend must be ``ray``, explicitly: newer vLLM no longer falls back to it."""
        # As for one node: on Ray one command lays out the replicas of all nodes.
        checked = super().prepare(recipe, arguments.without(words, _BACKEND), 1, report)
        if nnodes == 1:
            return checked
        ray = Traced("ray", from_rule("ray backend", "vLLM 0.13 and newer need it stated"))
        return arguments.with_value(checked, _BACKEND, ray.over(arguments.last_value(words, _BACKEND)))

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Workers retry the head until a deadline, so all ranks are one start wave."""
        if context.nnodes == 1:
            return super().plan_rank(context)
        address, port = own_address(context), str(context.master_port.value)
        head_address = context.head.address.value if context.head.address is not None else ""
        target = at_port(head_address, context.master_port.value)
        before = wrapper(context.recipe, self.program(context.recipe))
        if context.rank == 0:
            serve = super().plan_rank(replace(context, nnodes=1))
            head = (
                *before,
                "ray",
                "start",
                "--head",
                f"--port={port}",
                f"--node-ip-address={address.value}",
                "--include-dashboard=false",
            )
            return EngineRank(
                words=context.words,
                env=self._env(address),
                ports=(*serve.ports, Port("ray", context.master_port.value)),
                probe=serve.probe,
                deep_probe=serve.deep_probe,
                wave=0,
                steps=(
                    Step("start the Ray head", (*head, *_RAY_START)),
                    Step(
                        f"wait until {context.nnodes} nodes have joined Ray",
                        (*before, "python3", "-c", _ALL_JOINED, str(context.nnodes)),
                        _JOIN_DEADLINE,
                    ),
                ),
            )
        rule = from_rule("ray worker", "workers serve no HTTP; vLLM starts on them through Ray")
        start = (*before, "ray", "start", "--block", f"--address={target}", f"--node-ip-address={address.value}")
        return EngineRank(
            words=arguments.flags(rule, *start, *_RAY_START),
            env=self._env(address),
            ports=(),
            probe=None,
            deep_probe=None,
            wave=0,
            replaces_command=True,
            steps=(
                Step(
                    f"wait for the Ray head at {target}",
                    ("python3", "-c", _PORT_OPEN, head_address, port),
                    _JOIN_DEADLINE,
                ),
            ),
        )

    def _env(self, address: Traced[str]) -> dict[str, Traced[str]]:
        memory = from_default("Ray memory monitor off", "it counts unified memory and kills serving workers")
        return {
            _HOST: address,
            "RAY_NODE_IP_ADDRESS": address,
            "RAY_OVERRIDE_NODE_IP_ADDRESS": address,
            "RAY_memory_monitor_refresh_ms": Traced("0", memory),
            "RAY_num_prestart_python_workers": Traced("0", from_default("Ray workers", "vLLM starts its own")),
            "RAY_object_store_memory": Traced(
                _OBJECT_STORE, from_default("Ray object store", "1 GiB of unified memory")
            ),
        }

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Same image everywhere, own addresses; one Ray head on rank 0, which serves on Ray; workers join it."""
        if len(ranks) < 2:
            return
        problems = [*image_problems(ranks), *address_problems(ranks, _HOST)]
        head = next((step.argv for step in ranks[0].steps if "--head" in step.argv), ())
        at_head = dict(word.removeprefix("--").split("=", 1) for word in head if "=" in word)
        if at_head.get("node-ip-address") != host_of(ranks[0], _HOST):
            problems.append(f"rank 0 does not start the Ray head at its own address ({host_of(ranks[0], _HOST)})")
        backend = arguments.last_value(command_words(ranks[0]), _BACKEND)
        if backend is None or backend.value != "ray":
            problems.append("rank 0 does not serve on the ray backend")
        for rank in ranks[1:]:
            flags = arguments.last_values(command_words(rank))
            host, _, port = flags.get("--address", "").rpartition(":")
            if host.strip("[]") != at_head.get("node-ip-address") or port != at_head.get("port"):
                problems.append(f"rank {rank.rank} does not join the Ray head of rank 0")
            if flags.get("--node-ip-address") != host_of(rank, _HOST):
                problems.append(f"rank {rank.rank} does not join Ray with its own address ({host_of(rank, _HOST)})")
        report_problems(problems, at, report)
