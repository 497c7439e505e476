"""The ranks of a group: command, environment, mounts and container of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext
from sparkc.fabric.rules import check_environment
from sparkc.planning import container, environment, mounts
from sparkc.planning.command import engine_words, process
from sparkc.planning.environment import Layer
from sparkc.planning.group import Group
from sparkc.planning.model import Exec, RankPlan
from sparkc.planning.parameters import Parameters, stated_port
from sparkc.recipe.model import MountSpec


def plan_ranks(group: Group, report: Report) -> tuple[tuple[RankPlan, ...], Words]:
    """Return all ranks, and the words of rank 0's command before its rank flags."""
    recipe, nodes, inventory = group.inputs.recipe, group.selection.nodes, group.inputs.inventory
    explicit = mounts.explicit_mounts(recipe.mounts, group.inputs.overrides, report)
    flags = environment.flag_layer(group.inputs.overrides)
    ranks: list[RankPlan] = []
    wired: list[Layer] = []
    layers: list[Layer] = [inventory.env, flags]
    sets: set[str] = set()
    values = group.rank_values(0)
    head_words = words = engine_words(group.command, values, group.nnodes, report)
    recipe_env = environment.recipe_layer(recipe, values, report)
    port = stated_port(recipe, values)
    differs = group.differs_by_rank()
    for rank, node in enumerate(nodes):
        if rank and differs:
            values = group.rank_values(rank)
            words = engine_words(group.command, values, group.nnodes, report)
            recipe_env = environment.recipe_layer(recipe, values, report)
        own = group.engine.plan_rank(
            RankContext(
                recipe=recipe,
                words=words,
                rank=rank,
                nnodes=group.nnodes,
                node=node,
                head=nodes[0],
                nodes=nodes,
                master_port=group.master_port,
                port=port,
            )
        )
        fabric_env = group.fabric.environment(node, nodes, inventory)
        env = environment.merge([environment.DEFAULTS, own.env, fabric_env, inventory.env, node.env, recipe_env, flags])
        ranks.append(_rank(group, rank, own, values, env, explicit, report))
        wired.append({**own.env, **fabric_env, **node.env})
        sets |= own.env.keys() | fabric_env.keys()
        layers += [node.env, recipe_env]
    _check_environment(group, ranks, layers, wired, sets, report)
    return tuple(ranks), head_words


def _rank(
    group: Group,
    rank: int,
    own: EngineRank,
    values: Parameters,
    env: environment.Environment,
    explicit: Sequence[MountSpec],
    report: Report,
) -> RankPlan:
    inputs = group.inputs
    node = group.selection.nodes[rank]
    caches = mounts.cache_mounts(node, inputs.inventory, engine_caches=not inputs.overrides.no_cache_dirs)
    return RankPlan(
        rank=rank,
        node=node,
        role="solo" if group.selection.solo else "head" if rank == 0 else "worker",
        process=Exec(own.words) if own.replaces_command else process(group.command, values, own.words, report),
        steps=own.steps,
        environment=env,
        mounts=mounts.resolve(node, caches, explicit, report),
        container=container.plan_container(
            inputs.recipe,
            inputs.inventory,
            node,
            inputs.overrides,
            inputs.mods,
            solo=group.selection.solo,
            stop_grace=own.stop_grace,
        ),
        probe=own.probe,
        deep_probe=own.deep_probe,
        ports=own.ports,
        wave=own.wave,
    )


def _check_environment(
    group: Group,
    ranks: Sequence[RankPlan],
    layers: Sequence[Layer],
    wired: Sequence[Layer],
    sets: Iterable[str],
    report: Report,
) -> None:
    """Check what the user gave (``layers``) by itself, and against what the nodes bring (``wired``).

    ``sets`` names what engine and fabric set themselves.
    """
    distinct = list({id(layer): layer for layer in layers}.values())
    environment.check_names(distinct, report)
    keys = group.fabric.wiring_keys | group.engine.per_node_env
    environment.check_wiring([rank.environment for rank in ranks], wired, group.selection.nodes, keys, report)
    known = {*keys, *environment.DEFAULTS, *sets}
    environment.check_near_misses(distinct, known, report)
    if not group.selection.solo:
        declared = {deviation.key for deviation in group.inputs.recipe.deviations}
        final = [rank.environment for rank in ranks]
        check_environment(group.fabric.name, group.fabric.rules, final, distinct, declared, report)
