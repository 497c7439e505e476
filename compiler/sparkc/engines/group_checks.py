"""What engines prove about their ranks together: differences that would hang a group instead of failing it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.planning.model import Exec, RankPlan
from sparkc.reading.source import Span


def command_words(rank: RankPlan) -> Words:
    """Return the engine's words of a rank, also from inside a script."""
    process = rank.process
    return process.argv if isinstance(process, Exec) else process.engine_argv


def served_model(words: Words) -> str | None:
    """Return the model after ``serve``, if the command is of that form."""
    for word, following in pairwise(words):
        if word.value == "serve" and not following.value.startswith("-"):
            return following.value
    return None


def differing(what: str, values: Sequence[str | None]) -> list[str]:
    """Return the complaint about values that must be one, or nothing."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) < 2:
        return []
    return [f"{what} differs between ranks: {', '.join('none' if value is None else value for value in distinct)}"]


def image_problems(ranks: Sequence[RankPlan]) -> list[str]:
    """One image for all ranks: versions that differ do not understand each other."""
    return differing("the image", [rank.container.image.value for rank in ranks])


def address_problems(ranks: Sequence[RankPlan]) -> list[str]:
    """``VLLM_HOST_IP`` must be there, distinct, and reachable from other nodes."""
    hosts = [host_of(rank) for rank in ranks]
    if len(set(hosts)) == len(hosts) and not any(_is_local(host) for host in hosts):
        return []
    return [f"VLLM_HOST_IP must be each node's own address, got {', '.join(host or 'none' for host in hosts)}"]


def host_of(rank: RankPlan) -> str:
    """Return the address that the rank's engine binds, "" when it is not told."""
    traced = rank.environment.get("VLLM_HOST_IP")
    return "" if traced is None else traced.value


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
