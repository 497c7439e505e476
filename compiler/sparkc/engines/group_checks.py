"""What engines prove about their ranks together: differences that would hang a group instead of failing it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.planning.model import Exec, RankPlan
from sparkc.reading.source import Span


def command_words(rank: RankPlan) -> Words:
    """Return the engine's words of a rank, also from inside a script."""
    process = rank.process
    return process.argv if isinstance(process, Exec) else process.engine_argv


def served_model(words: Words) -> str | None:
    """Return the model after ``serve``, else after ``--model-path`` or ``--model``, if the command has one."""
    for word, following in pairwise(words):
        if word.value == "serve" and not following.value.startswith("-"):
            return following.value
    named = arguments.last_value(words, ("--model-path", "--model"))
    return None if named is None else named.value


def differing(what: str, values: Sequence[str | None]) -> list[str]:
    """Return the complaint about values that must be one, or nothing."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) < 2:
        return []
    return [f"{what} differs between ranks: {', '.join('none' if value is None else value for value in distinct)}"]


def image_problems(ranks: Sequence[RankPlan]) -> list[str]:
    """One image for all ranks: versions that differ do not understand each other."""
    return differing("the image", [rank.container.image.value for rank in ranks])


def address_problems(ranks: Sequence[RankPlan], key: str) -> list[str]:
    """The variable ``key`` must be there, distinct, and reachable from other nodes."""
    hosts = [host_of(rank, key) for rank in ranks]
    if len(set(hosts)) == len(hosts) and not any(_is_local(host) for host in hosts):
        return []
    return [f"{key} must be each node's own address, got {', '.join(host or 'none' for host in hosts)}"]


def host_of(rank: RankPlan, key: str) -> str:
    """Return the address that the rank's engine binds by its variable ``key``, "" when it is not told."""
    traced = rank.environment.get(key)
    return "" if traced is None else traced.value


def rank_problems(flags: Sequence[dict[str, str]]) -> list[str]:
    """``--node-rank`` must count all ranks, and ``--nnodes`` say how many there are."""
    problems = []
    if [values.get("--node-rank") for values in flags] != [str(number) for number in range(len(flags))]:
        problems.append("--node-rank does not count from 0 without gaps")
    if flags[0].get("--nnodes") != str(len(flags)):
        problems.append(f"--nnodes is not the number of ranks ({len(flags)})")
    return problems


def _is_local(host: str) -> bool:
    return host in ("", "0.0.0.0", "::", "::1", "localhost") or host.startswith("127.")  # noqa: S104 - compared with


def report_problems(problems: Sequence[str], at: Span | None, report: Report) -> None:
    """Report each problem as an error at the recipe's name."""
    for problem in problems:
        report.error(
            "SPK320",
            f"the ranks would not find each other: {problem}",
            at,
            hint="check env and args of the recipe, and env of the inventory and its nodes",
        )
