"""Recipe, inventory and overrides → Plan: the order of decisions."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import Engine, World
from sparkc.engines.registry import ENGINES
from sparkc.fabric.registry import fabric_of
from sparkc.planning import container, pins
from sparkc.planning.command import CommandPlan, engine_words
from sparkc.planning.earlyoom import earlyoom
from sparkc.planning.group import Group, Inputs
from sparkc.planning.identity import identity
from sparkc.planning.model import Plan
from sparkc.planning.overrides import Overrides
from sparkc.planning.parameters import parameters, rank_parameters, report_missing
from sparkc.planning.ranks import plan_ranks
from sparkc.planning.secret_shapes import check_ranks
from sparkc.planning.selection import select
from sparkc.recipe.model import Recipe
from sparkc.traced import Origin, Traced, from_default, from_flag

_START_BUDGET = 1800  # seconds; first starts compile and tune kernels, also behind a command that we cannot probe
_MASTER_PORT = 29501  # vLLM's own default since 0.11.1, and spark-vllm-docker's


def make_plan(inputs: Inputs, report: Report) -> Plan | None:
    """Return the plan, or None when something in the inputs is wrong; every problem is in ``report``."""
    group = _decide(inputs, report)
    if group is None:
        return None
    recipe, overrides = inputs.recipe, inputs.overrides
    ranks, words = plan_ranks(group, report)
    host = arguments.last_value(words, ("--host",))
    container.check_container(recipe, overrides, inputs.mods, solo=group.selection.solo, api_host=host, report=report)
    watchdog = earlyoom(recipe, overrides, report)
    models = pins.models(recipe, words)
    pins.check_image(ranks[0].container.image, report)
    pins.check_models(recipe, models, words, report)
    _check_command(group, words, report)
    check_ranks(ranks, report)
    if not report.failed:
        group.engine.check_group(ranks, recipe.base_name.origin.span, report)
    if report.failed:
        return None
    name = overrides.name if overrides.name is not None else recipe.base_name.value
    api = next((port.number for port in ranks[0].ports if port.name == "api"), None)
    start = ranks[0].probe.start_period if ranks[0].probe is not None else _START_BUDGET
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
        parameters=group.values,
        api_port=None if api is None else Traced(api, _port_origin(words, group)),
        client_url=_client_url(group, api),
        ready_timeout=max(start, recipe.ready_timeout.value if recipe.ready_timeout is not None else 0),
        diagnostics=report.diagnostics,
    )


def _decide(inputs: Inputs, report: Report) -> Group | None:
    """Engine, fabric, parameters, then the nodes: what the recipe needs is counted in its filled-in command."""
    recipe, overrides, inventory = inputs.recipe, inputs.overrides, inputs.inventory
    engine = _engine(recipe, overrides, report)
    fabric = fabric_of(inventory, report)
    if engine is None or fabric is None:
        return None
    command = CommandPlan(recipe, engine, overrides, _port(inputs))
    first = inventory.nodes[0]
    shared = parameters(recipe, overrides, solo=False, report=report)
    available = rank_parameters(recipe, shared, rank=0, nnodes=1, node=first, head=first, port=command.port)
    if report_missing(recipe, available, report):
        return None

    def count_world(solo: bool) -> World:
        # The words are filled in again per rank, with a report; here only their parallel sizes count.
        values = parameters(recipe, overrides, solo=solo, report=Report())
        guess = recipe.nodes.value if recipe.nodes is not None else len(inventory.nodes)
        filled = rank_parameters(recipe, values, rank=0, nnodes=guess, node=first, head=first, port=command.port)
        return engine.world(recipe, engine_words(command, filled, guess, Report()), report)

    selection = select(recipe, inventory, overrides, engine, count_world, report)
    if selection is None or report.failed:
        return None
    fabric.check(inventory, selection.nodes, report)
    values = parameters(recipe, overrides, solo=selection.solo, report=Report())
    return Group(inputs, engine, fabric, command, selection, values, _master_port(overrides))


def _port(inputs: Inputs) -> Traced[int] | None:
    given = inputs.overrides.port
    if given is not None:
        return Traced(given, from_flag(f"--port {given}")).over(inputs.recipe.port)
    return inputs.recipe.port or inputs.inventory.port


def _master_port(overrides: Overrides) -> Traced[int]:
    given = overrides.master_port
    if given is not None:
        return Traced(given, from_flag(f"--master-port {given}"))
    return Traced(_MASTER_PORT, from_default("master port", "vLLM's own default"))


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
    if group.engine.name == "plain" and group.nnodes > 1:
        report.note(
            "SPK306",
            f"engine plain: {group.nnodes} ranks run the same command; no rank flags are added unless the recipe places"
            " them",
            group.inputs.recipe.engine.origin.span,
            hint="use {rank}, {nnodes} and {head.address} in a native recipe",
        )
    for word in words:
        if "\0" in word.value:
            report.error(
                "SPK307", "an argument holds a NUL, which no process can receive", word.origin.span, hint="remove it"
            )


def _port_origin(words: Words, group: Group) -> Origin:
    given = arguments.last_value(words, ("--port",))
    if given is not None:
        return given.origin
    return group.command.port.origin if group.command.port is not None else from_default("API port", "the engine's own")


def _client_url(group: Group, port: int | None) -> str | None:
    """Where a client reaches rank 0: its ssh host name, as the user's machines know it."""
    if port is None:
        return None
    publish = group.inputs.overrides.publish
    host = group.selection.nodes[0].ssh.value.rpartition("@")[2]
    bare = host if host.count(":") > 1 else host.split(":")[0]
    for text in publish:
        outside, _, inside = text.rpartition(":")
        if inside == str(port):
            port = int(outside.rpartition(":")[2])
    return f"http://{f'[{bare}]' if ':' in bare else bare}:{port}"
