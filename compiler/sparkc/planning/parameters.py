"""Template parameters: a recipe's defaults, what the command line sets, and what each rank knows itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.engines.serving import is_port
from sparkc.inventory.model import Node
from sparkc.planning.overrides import Overrides
from sparkc.recipe.model import Param, Recipe
from sparkc.recipe.placeholders import params_of
from sparkc.traced import Traced, from_default, from_flag, from_rule

Parameters = Mapping[str, Traced[str]]

# Override → the parameter names under which recipes hold its value. The first is spark-vllm-docker's.
OVERRIDE_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "port": ("port",),
    "host": ("host",),
    "tp": ("tensor_parallel", "tensor_parallel_size", "tp"),
    "pp": ("pipeline_parallel", "pipeline_parallel_size", "pp"),
    "dp": ("data_parallel", "data_parallel_size", "dp"),
    "gpu_mem": ("gpu_memory_utilization", "gpu_memory_utilization_gb", "gpu_mem"),
    "max_model_len": ("max_model_len",),
}

_NODE_NAMES = ("node.name", "node.address", "node.interface", "node.hcas")
RANK_NAMES = ("rank", "nnodes", "model", "port", *_NODE_NAMES, "head.address")
_RANK_DIALECTS = ("native", "sparkrun")
BY_RANK = frozenset(("rank", *_NODE_NAMES))
"""Parameters whose values differ from rank to rank."""
# What the chosen nodes fill in. Until they are chosen nothing stands there: only the parallel sizes are read so far.
ON_NODES: Parameters = {
    name: Traced("", from_rule("node parameter", "known from the node")) for name in (*_NODE_NAMES, "head.address")
}


def flag_of(override: str) -> str:
    """Return the option as the user types it (``gpu_mem`` → ``--gpu-mem``)."""
    return f"--{override.replace('_', '-')}"


def used_parameters(recipe: Recipe) -> frozenset[str]:
    """Return the names of all placeholders in the recipe's command and environment."""
    env = (part for value in recipe.env.values() for part in value.value or () if isinstance(part, Param))
    return frozenset(param.name for param in (*params_of(recipe.command), *env))


def parameters(recipe: Recipe, overrides: Overrides, *, solo: bool, report: Report) -> Parameters:
    """Return the recipe-wide parameters: defaults, then the named overrides, then ``--set``.

    On one node a tensor-parallel size that came from ``defaults`` becomes 1, as in the reference launcher;
    a literal in the command is the engine's to judge.
    """
    values: dict[str, Traced[str]] = dict(recipe.defaults)
    used = used_parameters(recipe)
    if solo:
        for name in OVERRIDE_PARAMETERS["tp"]:
            if name in values and name in used and values[name].value != "1":
                values[name] = Traced("1", from_rule("solo", "one node, one GPU")).over(values[name])
    for override, names in OVERRIDE_PARAMETERS.items():
        given = getattr(overrides, override)
        for name in names:
            if given is not None and name in used:
                values[name] = Traced(str(given), from_flag(f"{flag_of(override)} {given}")).over(values.get(name))
    for key, value in overrides.set:
        built_in = recipe.dialect == "native" and key in RANK_NAMES and key not in recipe.defaults
        if key not in used or built_in:
            known = sorted(used - set(RANK_NAMES))
            report.error(
                "SPK301",
                f"--set {key}: sparkc fills in {{{key}}} itself"
                if built_in
                else f"--set {key}: the recipe's command does not use a parameter of this name",
                hint=("use --port" if built_in and key == "port" else None)
                or did_you_mean(key, known)
                or f"it uses: {', '.join(known) or 'none'}",
            )
        else:
            values[key] = Traced(value, from_flag(f"--set {key}={value}")).over(values.get(key))
    return values


def rank_parameters(
    recipe: Recipe, shared: Parameters, *, rank: int, nnodes: int, node: Node, head: Node, port: Traced[int] | None
) -> Parameters:
    """Return the parameters of one rank.

    A native recipe sees ``{rank}`` and the like, and so does sparkrun's environment; other dialects see only their own.
    """
    if recipe.dialect not in _RANK_DIALECTS:
        return shared
    rule = from_rule("rank parameter", "known from the rank and its node")
    own: dict[str, Traced[str] | None] = {
        "rank": Traced(str(rank), rule),
        "nnodes": Traced(str(nnodes), rule),
        "model": recipe.model,
        "port": None if port is None else port.with_value(str(port.value)),
        "node.name": node.name,
        "node.address": node.address or _solo_address(nnodes),
        "node.interface": node.interface,
        "node.hcas": Traced(",".join(hca.value for hca in node.hcas), node.hcas[0].origin) if node.hcas else None,
        "head.address": head.address or _solo_address(nnodes),
    }
    return {**{name: value for name, value in own.items() if value is not None}, **shared}


def stated_port(recipe: Recipe, values: Parameters) -> Traced[int] | None:
    """Return the port that a command is told to listen on: its ``{port}``, else the recipe's ``port``."""
    given = values.get("port") if "port" in used_parameters(recipe) else None
    if given is not None and is_port(given.value):
        return given.with_value(int(given.value))
    return recipe.port


def _solo_address(nnodes: int) -> Traced[str] | None:
    return Traced("127.0.0.1", from_default("loopback", "a single node needs no fabric")) if nnodes == 1 else None


def report_missing(recipe: Recipe, available: Iterable[str], report: Report, where: str = "") -> bool:
    """Report every placeholder of the command that nothing fills; return True when there is one.

    ``where`` names the node, for placeholders that each node fills itself.
    """
    names = sorted(set(available))
    missing = [param for param in params_of(recipe.command) if param.name not in names]
    for param in missing:
        if param.name in RANK_NAMES:
            hint = "the recipe or the inventory gives no value for it: set it there"
        else:
            hint = did_you_mean(param.name, names) or f"add it to defaults; known: {', '.join(names) or 'none'}"
        report.error("SPK300", f"nothing fills the placeholder {{{param.name}}}{where}", param.span, hint=hint)
    return bool(missing)
