"""The ranks of a group: command, environment, mounts and container of each."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext
from sparkc.planning import container, environment, mounts
from sparkc.planning.command import engine_words, process
from sparkc.planning.environment import Layer
from sparkc.planning.group import Group
from sparkc.planning.model import Exec, RankPlan
from sparkc.planning.parameters import Parameters
from sparkc.recipe.model import MountSpec


def plan_ranks(group: Group, report: Report) -> tuple[tuple[RankPlan, ...], Words]:
    """Return all ranks, and the words of rank 0's command before its rank flags."""
    recipe, nodes = group.inputs.recipe, group.selection.nodes
    explicit = mounts.explicit_mounts(recipe.mounts, group.inputs.overrides, report)
    flags = environment.flag_layer(group.inputs.overrides)
    ranks: list[RankPlan] = []
    wired: list[Layer] = []
    recipe_envs: list[Layer] = []
    head_words: Words = ()
    for rank, node in enumerate(nodes):
        values = group.rank_values(rank)
        words = engine_words(group.command, values, group.nnodes, report)
        own = group.engine.plan_rank(RankContext(recipe, words, rank, group.nnodes, node, nodes[0], group.master_port))
        fabric_env = group.fabric.environment(node, nodes, group.inputs.inventory)
        recipe_env = environment.recipe_layer(recipe, values, report)
        above: tuple[Layer, ...] = (group.inputs.inventory.env, node.env, recipe_env, flags)
        environment.check_names(above, report)
        env = environment.merge([environment.DEFAULTS, own.env, fabric_env, *above])
        ranks.append(_rank(group, rank, own, values, env, explicit, report))
        wired.append({**own.env, **fabric_env, **node.env})
        recipe_envs.append(recipe_env)
        head_words = head_words or words
    _check_environment(group, recipe_envs, flags, wired, report)
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
    group: Group, recipe_envs: Sequence[Layer], flags: Layer, wired: Sequence[Layer], report: Report
) -> None:
    keys = group.fabric.wiring_keys | group.engine.per_node_env
    if group.nnodes > 1:
        first = recipe_envs[0]
        fixed = {key: value for key, value in first.items() if all(env.get(key) == value for env in recipe_envs)}
        environment.check_wiring([group.inputs.inventory.env, fixed, flags], wired, group.selection.nodes, keys, report)
    known = {*keys, *environment.DEFAULTS, *(key for env in wired for key in env)}
    environment.check_near_misses(recipe_envs[0], known, report)
