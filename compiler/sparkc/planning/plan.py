"""Recipe, inventory and overrides → Plan: the order of decisions."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.engines.arguments import Words
from sparkc.engines.base import Engine, World
from sparkc.engines.registry import ENGINES
from sparkc.engines.serving import LOAD_BUDGET
from sparkc.fabric.registry import fabric_of
from sparkc.fabric.rules import check_serving
from sparkc.flags.check import check_command
from sparkc.planning import pins
from sparkc.planning.api import api_port, endpoints
from sparkc.planning.command import CommandPlan, engine_words
from sparkc.planning.container import image_of
from sparkc.planning.container_checks import check_container
from sparkc.planning.doubled_flags import check_doubled
from sparkc.planning.earlyoom import earlyoom
from sparkc.planning.group import Group, Inputs
from sparkc.planning.identity import identity
from sparkc.planning.model import Plan, RankPlan
from sparkc.planning.overrides import Overrides
from sparkc.planning.parameters import ON_NODES, parameters, rank_parameters, report_missing, used_parameters
from sparkc.planning.ranks import plan_ranks
from sparkc.planning.secret_shapes import check_ranks
from sparkc.planning.selection import select
from sparkc.recipe.model import Recipe
from sparkc.record import replace
from sparkc.traced import Traced, from_default, from_flag

_MASTER_PORT = 29501  # vLLM's own default since 0.11.1, and spark-vllm-docker's


def make_plan(inputs: Inputs, report: Report) -> Plan | None:
    """Return the plan, or None when something in the inputs is wrong; every problem is in ``report``."""
    own = Report()  # what was found before, such as a missing mod, keeps nothing else from being found
    plan = _plan(inputs, own)
    for diagnostic in own.diagnostics:
        report.add(diagnostic)
    return None if plan is None or report.failed else replace(plan, diagnostics=report.diagnostics)


def _plan(inputs: Inputs, report: Report) -> Plan | None:
    group = _decide(inputs, report)
    if group is None:
        return None
    recipe, overrides = inputs.recipe, inputs.overrides
    ranks, words = plan_ranks(group, report)
    host = group.engine.api_host(words, ranks[0].environment)
    solo, settings = group.selection.solo, ranks[0].container
    check_container(recipe, overrides, inputs.mods, settings, solo=solo, api_host=host, report=report)
    watchdog = earlyoom(recipe, overrides, report)
    models = pins.models(recipe, words)
    pins.check_image(ranks[0].container.image, report)
    pins.check_models(recipe, models, words, report)
    _check_command(group, words, report)
    for secret in recipe.secrets:
        literal = ranks[0].environment.get(secret.value)
        if literal is not None:
            report.error(
                "SPK371",
                f"{secret.value} is listed under secrets and also set to a value that the bundle would hold",
                literal.origin.span or secret.origin.span,
                hint=f"remove the value: {secret.value} is read on the node",
            )
    check_command(
        group.engine.name,
        recipe,
        words,
        ranks[0].environment,
        [mod.name for mod in inputs.mods if mod.files],
        report,
        nnodes=group.nnodes,
        image=ranks[0].container.image,
    )
    _check_head(ranks[0], report)
    check_ranks(ranks, report)
    if not report.failed:
        group.engine.check_group(ranks, recipe.base_name.origin.span, report)
    if report.failed:
        return None
    name = overrides.name if overrides.name is not None else recipe.base_name.value
    port = api_port(group, ranks[0], words)
    start = ranks[0].probe.start_period if ranks[0].probe is not None else LOAD_BUDGET
    return Plan(
        name=identity(name, inputs.inventory.name if inputs.chosen_inventory else None),
        recipe=recipe,
        recipe_path=inputs.recipe_path,
        recipe_sha256=inputs.recipe_sha256,
        inventory=inputs.inventory,
        inventory_path=inputs.inventory_path,
        overrides=overrides.record(),
        engine=group.engine.name,
        nnodes=group.nnodes,
        ranks=ranks,
        mods=inputs.mods,
        secrets=recipe.secrets,
        earlyoom=watchdog,
        models=models,
        revision=pins.revision(recipe, words),
        parameters=group.values,
        api_port=port,
        endpoints=endpoints(ranks, host.value, overrides.publish) if port is not None else (),
        ready_timeout=max(start, recipe.ready_timeout.value if recipe.ready_timeout is not None else 0),
        diagnostics=report.diagnostics,
    )


def _decide(inputs: Inputs, report: Report) -> Group | None:
    """Engine, fabric, parameters, then the nodes: what the recipe needs is counted in its filled-in command."""
    recipe, overrides, inventory = inputs.recipe, inputs.overrides, inputs.inventory
    engine = _engine(recipe, overrides, report)
    if engine is None:
        return None
    fabric = fabric_of(inventory, image_of(recipe, overrides).value)
    command = CommandPlan(recipe, engine, overrides, _port(inputs))
    first = inventory.nodes[0]
    shared = parameters(recipe, overrides, solo=False, report=report)
    available = rank_parameters(recipe, shared, rank=0, nnodes=1, node=first, head=first, port=command.port)
    later = ON_NODES if recipe.dialect == "native" else {}
    if report_missing(recipe, {**later, **available}, report):
        return None

    def count_world(solo: bool) -> World:
        # The words are filled in again per rank, with a report; here only their parallel sizes count.
        values = parameters(recipe, overrides, solo=solo, report=Report())
        guess = recipe.nodes.value if recipe.nodes is not None else len(inventory.nodes)
        filled = rank_parameters(recipe, values, rank=0, nnodes=guess, node=first, head=first, port=command.port)
        return engine.world(recipe, engine_words(command, {**later, **filled}, guess, Report()), report)

    selection = select(recipe, inventory, overrides, engine, count_world, report)
    if selection is None or report.failed:
        return None
    fabric.check(inventory, selection.nodes, report)
    if not selection.solo:
        running = recipe.engine.with_value(engine.name)
        check_serving(fabric.name, fabric.rules, running, selection.world, report)
    values = parameters(recipe, overrides, solo=selection.solo, report=Report())
    group = Group(inputs, engine, fabric, command, selection, values, _master_port(inputs))
    return None if _missing_on_nodes(group, report) else group


def _missing_on_nodes(group: Group, report: Report) -> bool:
    """Report placeholders that the inventory does not fill on every chosen node."""
    recipe = group.inputs.recipe
    if used_parameters(recipe).isdisjoint(ON_NODES):
        return False
    found = [
        report_missing(recipe, group.rank_values(rank), report, f" on {node.name.value}")
        for rank, node in enumerate(group.selection.nodes)
    ]
    return any(found)


def _port(inputs: Inputs) -> Traced[int] | None:
    given = inputs.overrides.port
    if given is not None:
        return Traced(given, from_flag(f"--port {given}")).over(inputs.recipe.port or inputs.inventory.port)
    return inputs.recipe.port or inputs.inventory.port


def _master_port(inputs: Inputs) -> Traced[int]:
    given = inputs.overrides.master_port
    if given is not None:
        return Traced(given, from_flag(f"--master-port {given}")).over(inputs.inventory.master_port)
    return inputs.inventory.master_port or Traced(
        _MASTER_PORT, from_default("master port", "the default of vLLM and spark-vllm-docker")
    )


def _engine(recipe: Recipe, overrides: Overrides, report: Report) -> Engine | None:
    name = recipe.engine.value
    if overrides.ray is not None and name in ("vllm", "vllm-ray"):
        name = "vllm-ray" if overrides.ray else "vllm"
    elif overrides.ray is not None:
        report.error(
            "SPK304",
            f"{'--ray' if overrides.ray else '--no-ray'} is for vLLM; the recipe's engine is {name}",
            recipe.engine.origin.span,
            hint="drop the flag",
        )
    if name not in ENGINES:
        report.error(
            "SPK305",
            f"engine {name!r} is not supported",
            recipe.engine.origin.span,
            hint=did_you_mean(name, ENGINES) or f"supported are {', '.join(ENGINES)}",
        )
    return ENGINES.get(name)


def _check_command(group: Group, words: Words, report: Report) -> None:
    if group.engine.name != "plain":
        check_doubled(words, report)
    elif group.nnodes > 1:
        report.note(
            "SPK306",
            f"engine plain: {group.nnodes} ranks run the same command; no rank flags are added unless the recipe places"
            " them",
            group.inputs.recipe.engine.origin.span,
            hint="use {rank}, {nnodes} and {head.address} in a native recipe",
        )


def _check_head(head: RankPlan, report: Report) -> None:
    """Report listeners of rank 0 that would take each other's port."""
    taken: dict[int, str] = {}
    for port in head.ports:
        other = taken.setdefault(port.number, port.name)
        if other != port.name:
            report.error(
                "SPK321",
                f"port {port.number} would be both the {other} port and the {port.name} port of rank 0",
                hint="give another --port or --master-port",
            )
