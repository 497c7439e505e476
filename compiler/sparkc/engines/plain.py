"""Any other command, passed through: every node runs the same one.

sparkc knows nothing of such a program, so no rank flags are added; a recipe places them itself through
``{rank}``, ``{nnodes}`` and ``{head.address}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext, World
from sparkc.engines.group_checks import image_problems, report_problems
from sparkc.engines.serving import ALL_ADDRESSES, bound_host, http_probe
from sparkc.planning.model import Port, RankPlan
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default


class Plain:
    """The engine of commands that sparkc does not know."""

    name = "plain"
    counts_world = False
    per_node_env: frozenset[str] = frozenset()

    def program(self, recipe: Recipe) -> tuple[str, ...]:  # noqa: ARG002 - the command is the recipe's own
        """Nothing: a plain recipe states its whole command."""
        return ()

    def model_words(self, model: str) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing, for the same reason."""
        return ()

    def override_flags(self, override: str) -> tuple[str, ...]:  # noqa: ARG002
        """None: an override reaches a plain command only through its placeholders."""
        return ()

    def implied(self, recipe: Recipe, words: Words) -> Words:  # noqa: ARG002
        """Nothing."""
        return ()

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:  # noqa: ARG002
        """Nothing is removed."""
        return words

    def api_host(self, words: Words, environment: Mapping[str, Traced[str]]) -> Traced[str]:  # noqa: ARG002
        """A command that does not say serves on all addresses, as far as we know."""
        return bound_host(words, ALL_ADDRESSES)

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:  # noqa: ARG002
        """One: a plain command has no parallel sizes."""
        one = Traced(1, from_default("parallel size", "a plain command has none"))
        return World(one, one, one)

    def plan_rank(self, context: RankContext) -> EngineRank:
        """The command as it is; rank 0 is probed when the recipe says how."""
        serves = context.rank == 0
        port = context.recipe.health.port or context.port
        probed = serves and context.recipe.health.path is not None
        return EngineRank(
            words=context.words,
            env={},
            ports=(Port("api", context.port.value),) if context.port is not None and serves else (),
            probe=http_probe(context, port.value if port is not None else 80) if probed else None,
            deep_probe=None,
            wave=0,
        )

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Only what holds for any group: one image."""
        report_problems(image_problems(ranks), at, report)
