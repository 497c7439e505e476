"""A recipe without an inventory of its own: what it runs and how many nodes it takes."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.engines.registry import ENGINES
from sparkc.inventory.model import Node
from sparkc.planning.command import CommandPlan, engine_words
from sparkc.planning.overrides import Overrides
from sparkc.planning.parameters import Parameters, parameters, rank_parameters, report_missing
from sparkc.planning.selection import nodes_needed
from sparkc.recipe.model import Recipe
from sparkc.record import dataclass


@dataclass(frozen=True)
class Resolved:
    """A recipe with its default parameters. ``words`` is the engine's command before rank flags."""

    nodes: int
    parameters: Parameters
    words: Words


def resolve(recipe: Recipe, node: Node, report: Report) -> Resolved | None:
    """Return the recipe as ``compile`` without options would take it, on ``node`` as rank 0; None after an error."""
    engine = ENGINES.get(recipe.engine.value)
    if engine is None:
        report.error(
            "SPK305",
            f"engine {recipe.engine.value!r} is not supported",
            recipe.engine.origin.span,
            hint=f"supported are {', '.join(ENGINES)}",
        )
        return None
    command = CommandPlan(recipe, engine, Overrides(), recipe.port)
    shared = parameters(recipe, Overrides(), solo=False, report=report)
    values = rank_parameters(recipe, shared, rank=0, nnodes=1, node=node, head=node, port=recipe.port)
    if report_missing(recipe, values, report):
        return None
    words = engine_words(command, values, 1, report)
    nodes = nodes_needed(recipe, engine, engine.world(recipe, words, report), report)
    return None if nodes is None else Resolved(nodes, shared, words)
