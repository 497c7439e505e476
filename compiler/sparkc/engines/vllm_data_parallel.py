"""vLLM's data parallel layouts that a recipe asks for with flags of its own, instead of the plain ``-dp N``.

``--data-parallel-size-local`` puts an internal load balancer on rank 0 and headless workers behind it. The hybrid
and external balancers stand before the nodes: every rank serves HTTP. None of them takes ``--nnodes``: each replica
lives on one node (https://docs.vllm.ai/en/latest/serving/data_parallel_deployment/). With one replica per node vLLM
turns hybrid into external, which it refuses for dense models, or dies at an assertion (seen in 0.32).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import RankContext
from sparkc.engines.command_checks import read_size
from sparkc.engines.group_checks import differing
from sparkc.traced import Traced, from_rule

Layout = Literal["native", "internal", "hybrid", "external"]

_SIZE = ("--data-parallel-size", "-dp")
_LOCAL = ("--data-parallel-size-local", "-dpl")
_HYBRID = ("--data-parallel-hybrid-lb", "-dph")
_EXTERNAL = ("--data-parallel-external-lb", "-dpe")
_MULTI_PORT = ("--data-parallel-multi-port-external-lb", "-dpm")
_RANK, _START, _ADDRESS, _RPC_PORT = (
    "--data-parallel-rank",
    "--data-parallel-start-rank",
    "--data-parallel-address",
    "--data-parallel-rpc-port",
)
OWNED = (_RANK, "-dpn", _START, "-dpr", _ADDRESS, "-dpa", _RPC_PORT, "-dpp")
"""Flags that are different on every rank, or that sparkc takes from the inventory and ``--master-port``."""


def layout(words: Words) -> Layout:
    """Return the layout that a command asks for."""
    if arguments.has(words, _EXTERNAL):
        return "external"
    if arguments.has(words, _HYBRID):
        return "hybrid"
    return "internal" if arguments.has(words, _LOCAL) else "native"


def every_rank_serves(kind: Layout) -> bool:
    """True where a balancer of the user's stands before the nodes, each of which has an API of its own."""
    return kind in ("hybrid", "external")


def check_layout(words: Words, nnodes: int, report: Report) -> None:
    """Report a layout that does not give every node the same, whole number of replicas."""
    if nnodes == 1:
        return
    several = next((word for word in words if arguments.flag_name(word.value) in _MULTI_PORT), None)
    if several is not None:
        report.error(
            "SPK314",
            f"{several.value} balances over the GPUs of one node, not over {nnodes} nodes",
            several.origin.span,
            hint="use --data-parallel-hybrid-lb: one API per node",
        )
    kind = layout(words)
    if kind == "native":
        return
    total, local = arguments.last_value(words, _SIZE), arguments.last_value(words, _LOCAL)
    if local is not None and local.value == "0":
        report.error(
            "SPK314",
            f"{_LOCAL[0]} 0 leaves the GPUs of a node idle",
            local.origin.span,
            hint="rank 0 serves the API beside its replica: write 1, or leave the flag out",
        )
        return
    replicas = read_size(words, _SIZE, None, report).value
    each = read_size(words, _LOCAL, None, report).value if local is not None else replicas // nnodes
    if each * nnodes != replicas or (kind == "external" and each != 1):
        place = local or total
        at_most = ", and an external balancer knows one replica per node" if kind == "external" else ""
        report.error(
            "SPK314",
            f"{replicas} data parallel replicas do not fill {nnodes} nodes with {max(each, 1)} each{at_most}",
            None if place is None else place.origin.span,
            hint=f"a replica (tp × pp) must fit one node: correct --data-parallel-size or {_LOCAL[0]}",
        )
    elif every_rank_serves(kind) and each == 1:
        balancer = next(word for word in words if arguments.flag_name(word.value) in (*_HYBRID, *_EXTERNAL))
        report.note(
            "SPK317",
            f"{balancer.value}: with one replica per node vLLM takes this for mixture-of-experts models only",
            balancer.origin.span,
            hint="for a dense model compile one bundle per node with --solo, without data parallel flags",
        )


def rank_flags(context: RankContext, kind: Layout) -> Words:
    """Return what one rank adds. The cluster's coordination port is the port of the balancer's RPC."""
    rule = from_rule(f"vllm {kind} load balancing", "each rank says which replicas are its own, and where rank 0 is")
    each = _replicas_per_node(context.words, context.nnodes)
    words: list[Traced[str]] = []
    if kind == "hybrid" and not arguments.has(context.words, _LOCAL):
        words += arguments.flags(rule, _LOCAL[0], str(each))
    if kind == "external":
        words += arguments.flags(rule, _RANK, str(context.rank))
    elif kind == "hybrid" or context.rank:
        words += arguments.flags(rule, _START, str(context.rank * each))
    words += arguments.flags(rule, _ADDRESS)
    words.append(context.head.address or Traced("", rule))
    words += arguments.flags(rule, _RPC_PORT)
    words.append(context.master_port.with_value(str(context.master_port.value)))
    if context.rank and not every_rank_serves(kind):
        words.append(Traced("--headless", from_rule("headless workers", "only rank 0 serves HTTP")))
    return tuple(words)


def group_problems(commands: Sequence[Words], kind: Layout, head: str) -> list[str]:
    """Return what keeps the ranks from finding each other. ``head`` is rank 0's address, "" when that is wrong."""
    flags = [arguments.last_values(words) for words in commands]
    each = _replicas_per_node(commands[0], len(commands))
    problems = differing(_RPC_PORT, [values.get(_RPC_PORT) for values in flags])
    problems += differing(_ADDRESS, [values.get(_ADDRESS) for values in flags])
    if head and flags[0].get(_ADDRESS) != head:
        problems.append(f"{_ADDRESS} is not the address of rank 0 ({head})")
    numbered, step = (_RANK, 1) if kind == "external" else (_START, each)
    wanted = [str(rank * step) for rank in range(len(commands))]
    # Behind an internal balancer rank 0 has no number: its replicas are the first.
    given = [
        values.get(numbered, "0" if kind == "internal" and not rank else None) for rank, values in enumerate(flags)
    ]
    if given != wanted:
        problems.append(f"{numbered} must be {', '.join(wanted)}, got {', '.join(value or 'none' for value in given)}")
    silent = [not every_rank_serves(kind) and rank > 0 for rank in range(len(commands))]
    if ["--headless" in values for values in flags] != silent:
        problems.append(
            "--headless must stand on no rank" if not any(silent) else "--headless must stand on every worker"
        )
    return problems


def _replicas_per_node(words: Words, nnodes: int) -> int:
    """Return the stated number, else an even share; what is wrong with either is told by :func:`check_layout`."""
    if arguments.last_value(words, _LOCAL) is not None:
        return read_size(words, _LOCAL, None, Report()).value
    return read_size(words, _SIZE, None, Report()).value // nnodes
