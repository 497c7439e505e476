"""Which nodes serve, and whether that is solo: what the recipe needs against what was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkc.diagnostics import Related, Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.engines.base import Engine, World
from sparkc.inventory.model import Inventory, Node
from sparkc.planning.overrides import Overrides
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.record import dataclass

# Counts the world of a command that is compiled solo, or for a cluster.
CountWorld = Callable[[bool], World]


@dataclass(frozen=True)
class Selection:
    """The chosen nodes, rank 0 first. Solo means no distributed flags and a loopback environment."""

    nodes: tuple[Node, ...]
    solo: bool
    world: World


def given_nodes(inventory: Inventory, text: str | None, report: Report) -> tuple[Node, ...] | None:
    """Return the nodes that ``--nodes`` names: the first N, or those listed, in that order.

    Without ``--nodes`` all nodes of the inventory are given. None after an error.
    """
    if text is None or inventory.kind == "ad-hoc":
        return inventory.nodes
    total = len(inventory.nodes)
    if text.isdecimal():
        count = int(text) if len(text) < 10 else total + 1
        if not 0 < count <= total:
            report.error(
                "SPK380",
                f"--nodes {text}: inventory {inventory.name} has {total} node(s)",
                hint=f"choose 1 to {total}, or add nodes to the inventory",
            )
            return None
        return inventory.nodes[:count]
    by_name = {node.name.value: node for node in inventory.nodes}
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in by_name]
    for name in unknown:
        hint = did_you_mean(name, by_name) or f"the inventory has: {', '.join(by_name)}"
        report.error("SPK381", f"--nodes: inventory {inventory.name} has no node {name!r}", hint=hint)
    repeated = sorted({name for name in names if names.count(name) > 1} - set(unknown))
    for name in repeated:
        report.error("SPK382", f"--nodes names {name} twice; a rank is a node", hint="name each node once")
    return None if unknown or repeated else tuple(by_name[name] for name in names)


def select(
    recipe: Recipe, inventory: Inventory, overrides: Overrides, engine: Engine, count_world: CountWorld, report: Report
) -> Selection | None:
    """Return the nodes that serve, or None after an error.

    One chosen node, or ``--solo``, is solo before the world is counted. Otherwise the recipe's need decides:
    fewer needed than given trims with a note, more is an error, and a need of one is compiled as solo.
    """
    given = given_nodes(inventory, overrides.nodes, report)
    if given is None or _contradicts_solo_only(recipe, engine, count_world, given[0].gpu_count, report):
        return None
    alone = overrides.nodes is None and recipe.solo_only is not None and recipe.solo_only.value
    solo = overrides.solo or len(given) == 1 or alone
    world = count_world(solo)
    asked = len(given) if overrides.nodes is not None and not overrides.solo else 1
    needed = nodes_needed(recipe, engine, world, report, gpus=given[0].gpu_count, asked=asked, solo=solo)
    if needed is None:
        return None
    what = f"recipe needs {needed} node(s){_because(recipe, engine, world)}"
    span = _need_span(recipe, world)
    if needed > len(given) or (solo and needed > 1):
        available = "--solo gives one" if overrides.solo else f"only {len(given)} given: {_names(given)}"
        report.error(
            "SPK384", f"{what}; {available}", span, hint="give more nodes with --nodes, or lower the parallel sizes"
        )
        return None
    nodes = given[:needed]
    if len({node.gpu_count for node in nodes}) > 1:
        counts = ", ".join(f"{node.name.value}: {node.gpu_count}" for node in nodes)
        report.error(
            "SPK383",
            f"the chosen nodes have different numbers of GPUs ({counts})",
            _at(nodes),
            hint="choose equal nodes with --nodes",
        )
        return None
    solo = solo or needed == 1
    if not _allowed(recipe, solo=solo, report=report):
        return None
    if needed < len(given) and overrides.nodes is not None:
        report.note("SPK385", f"{what}; using {needed} of {len(given)}: {_names(nodes)}", span)
    if solo and overrides.ray is not None:
        flag = "--ray" if overrides.ray else "--no-ray"
        report.error("SPK386", f"{flag} is incompatible with a single node", hint=f"drop {flag}, or give more nodes")
    return Selection(nodes, solo, world)


def _contradicts_solo_only(recipe: Recipe, engine: Engine, count_world: CountWorld, gpus: int, report: Report) -> bool:
    """Report a solo_only recipe that needs several nodes even when it is compiled solo: no option can help."""
    only = recipe.solo_only
    if only is None or not only.value:
        return False
    world = count_world(True)
    needed = nodes_needed(recipe, engine, world, Report(), gpus=gpus, solo=True)
    if needed is None or needed == 1:
        return False
    size = recipe.nodes if recipe.nodes is not None and recipe.nodes.value > 1 else world.stated
    key = "" if size is None else f" for {size.origin.text.rpartition(': ')[2]}"
    report.error(
        "SPK384",
        f"recipe needs {needed} node(s){_because(recipe, engine, world)}{key}, and solo_only allows one",
        _need_span(recipe, world),
        hint="remove solo_only, or make the parallel sizes fit one node",
        related=[] if only.origin.span is None else [Related("solo_only is set here", only.origin.span)],
    )
    return True


def nodes_needed(
    recipe: Recipe, engine: Engine, world: World, report: Report, *, gpus: int = 1, asked: int = 1, solo: bool = False
) -> int | None:
    """Return how many nodes the recipe takes, or None after an error.

    ``gpus`` is the number of GPUs per node. ``asked`` is what the user named: a command without parallel sizes of
    its own (engine plain) runs on that many nodes.
    """
    stated = recipe.nodes
    if not engine.counts_world:
        return asked if stated is None else stated.value
    if stated is not None and solo and stated.value > 1:
        return stated.value
    if world.size % gpus and world.size > gpus:
        message = f"{world} needs {world.size} GPUs, which does not fill nodes of {gpus}"
        report.error("SPK388", message, _need_span(recipe, world), hint="change the parallel sizes")
        return None
    needed = max(1, world.size // gpus)
    if stated is not None and stated.value != needed:
        report.error(
            "SPK387",
            f"nodes: {stated.value} is not what the parallel sizes need"
            f" ({world}: {world.size} GPU(s), {gpus} per node)",
            stated.origin.span,
            hint="make tp × pp × dp equal to the GPUs of all nodes, or remove nodes",
        )
        return None
    return needed


def _allowed(recipe: Recipe, *, solo: bool, report: Report) -> bool:
    forbidding = recipe.cluster_only if solo else recipe.solo_only
    if forbidding is None or not forbidding.value:
        return True
    mode, hint = (
        ("cluster", "give it more nodes with --nodes, and parallel sizes above one")
        if solo
        else ("solo", "compile it with --solo")
    )
    report.error("SPK389", f"recipe {recipe.title!r} requires {mode} mode", forbidding.origin.span, hint=hint)
    return False


def _because(recipe: Recipe, engine: Engine, world: World) -> str:
    if engine.counts_world:
        return f" ({world})"
    return "" if recipe.nodes is None else f" (nodes: {recipe.nodes.value})"


def _need_span(recipe: Recipe, world: World) -> Span | None:
    for value in (recipe.nodes, world.stated):
        if value is not None and value.origin.span is not None:
            return value.origin.span
    return recipe.base_name.origin.span


def _names(nodes: Sequence[Node]) -> str:
    return ", ".join(node.name.value for node in nodes)


def _at(nodes: Sequence[Node]) -> Span | None:
    counted = next((node.gpus for node in nodes if node.gpus is not None), nodes[0].name)
    return counted.origin.span
