"""The environment of a rank: layers from lowest to highest, each value traced to the layer it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.inventory.model import Node
from sparkc.patterns import pattern
from sparkc.planning.overrides import Overrides
from sparkc.planning.parameters import Parameters
from sparkc.recipe.model import Param, Recipe
from sparkc.recipe.placeholders import fill
from sparkc.traced import Origin, Traced, from_default, from_flag

Layer = Mapping[str, Traced[str | None]]
Environment = Mapping[str, Traced[str]]

_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
# Keys that recipes and inventories set beside those of sparkc; a slip in one is as silent.
_OFTEN_SET = ("NCCL_DEBUG", "VLLM_ATTENTION_BACKEND", "HF_HUB_OFFLINE", "MAX_JOBS")

# WORKSPACE_DIR is launch.sh's own, the others POSIX gives to any sh.
_OF_THE_SHELL = frozenset({"WORKSPACE_DIR", "IFS", "OLDPWD", "OPTIND", "PPID", "PWD"})

DEFAULTS: Layer = {
    "PYTORCH_CUDA_ALLOC_CONF": Traced(
        "expandable_segments:True", from_default("PyTorch allocator", "spark-vllm-docker sets it on every container")
    ),
    "NCCL_IGNORE_CPU_AFFINITY": Traced(
        "1", from_default("NCCL CPU affinity", "spark-vllm-docker sets it on every container")
    ),
}


def flag_layer(overrides: Overrides) -> Layer:
    """Return what the command line sets: ``--nccl-debug`` and ``-j`` first, then ``-e``, which wins."""
    layer: dict[str, Traced[str | None]] = {}
    if overrides.nccl_debug is not None:
        layer["NCCL_DEBUG"] = Traced(overrides.nccl_debug, from_flag(f"--nccl-debug {overrides.nccl_debug}"))
    if overrides.jobs is not None:
        jobs, origin = str(overrides.jobs), from_flag(f"-j {overrides.jobs}")
        layer |= {
            "MAX_JOBS": Traced(jobs, origin),
            "CMAKE_BUILD_PARALLEL_LEVEL": Traced(jobs, origin),
            "NINJAFLAGS": Traced(f"-j{jobs}", origin),
            "MAKEFLAGS": Traced(f"-j{jobs}", origin),
        }
    for key, value in overrides.env:
        layer[key] = Traced(value, from_flag(f"-e {key}"), layer.get(key))
    return layer


def recipe_layer(recipe: Recipe, values: Parameters, report: Report) -> Layer:
    """Return the recipe's ``env`` with its node placeholders filled in."""
    layer: dict[str, Traced[str | None]] = {}
    texts = {name: value.value for name, value in values.items()}
    where = f" on {texts['node.name']}" if "node.name" in texts else ""
    for key, traced in recipe.env.items():
        parts = traced.value
        if parts is None:
            layer[key] = Traced(None, traced.origin)
            continue
        missing = [part for part in parts if isinstance(part, Param) and part.name not in texts]
        for param in missing:
            report.error(
                "SPK300",
                f"nothing fills the placeholder {{{param.name}}} in env {key}{where}",
                param.span,
                hint="env takes {node.name}, {node.address}, {node.interface}, {node.hcas} and {head.address}"
                " of nodes that have them",
            )
        if not missing:
            layer[key] = Traced(fill(parts, texts), traced.origin)
    return layer


def merge(layers: Iterable[Layer]) -> Environment:
    """Lay the layers over each other, lowest first. A None removes the key: absent is not empty.

    Keys come out sorted, so that the order in ``rank.env`` does not depend on which layer set one.
    """
    merged: dict[str, Traced[str | None]] = {}
    for layer in layers:
        for key, traced in layer.items():
            merged[key] = traced.over(merged.get(key))
    present = ((key, _without_none(traced)) for key, traced in sorted(merged.items()) if traced.value is not None)
    return {key: traced for key, traced in present if traced is not None}


def _without_none(traced: Traced[str | None] | None) -> Traced[str] | None:
    """Return a value's history without the layers that removed the key."""
    while traced is not None and traced.value is None:
        traced = traced.overrode
    if traced is None or traced.overrode is None:
        return traced  # type: ignore[return-value]  # its value is not None
    return Traced(traced.value or "", traced.origin, _without_none(traced.overrode))


def check_names(layers: Sequence[Layer], report: Report) -> None:
    """Report keys that are no environment names, and keys that launch.sh and its shell set themselves."""
    for layer in layers:
        for key, traced in layer.items():
            if not _NAME.fullmatch(key):
                report.error(
                    "SPK330",
                    f"{key!r} is not the name of an environment variable",
                    traced.origin.span,
                    hint="letters, digits and _, not starting with a digit",
                )
            elif key in _OF_THE_SHELL and traced.value is not None:
                report.warning(
                    "SPK334",
                    f"{key} does not reach the engine as it is set here: launch.sh or its shell sets it",
                    traced.origin.span,
                    hint=f"remove {key}",
                )


def check_wiring(
    final: Sequence[Environment], wired: Sequence[Layer], nodes: Sequence[Node], keys: Iterable[str], report: Report
) -> None:
    """Warn where one fixed value replaces values that differ from node to node.

    ``final`` are the ranks' environments, ``wired`` what fabric, engine and node gave them. A value that a
    placeholder or a node's own ``env`` makes different on every rank is nobody's mistake.
    """
    for key in sorted(keys):
        hiding: dict[tuple[Origin, str], list[int]] = {}
        for rank, (env, own) in enumerate(zip(final, wired, strict=True)):
            if key in env and key in own and env[key].origin is not own[key].origin:
                hiding.setdefault((env[key].origin, env[key].value), []).append(rank)
        for (origin, value), ranks in hiding.items():
            if len(ranks) < 2 or all(wired[rank][key].value == value for rank in ranks):
                continue
            hidden = ", ".join(f"{wired[rank][key].value} ({nodes[rank].name.value})" for rank in ranks)
            where = "every rank" if len(ranks) == len(nodes) else f"{len(ranks)} ranks"
            report.warning(
                "SPK332",
                f"{key} is {value!r} on {where}; it hides the per-node values {hidden}",
                origin.span,
                hint=f"remove {key}; the inventory gives each node its own",
            )


def check_near_misses(layers: Iterable[Layer], known: Iterable[str], report: Report) -> None:
    """Warn about a key, given by the user in one of ``layers``, that is one slip away from a key that sparkc sets."""
    names = {*known, *_OFTEN_SET}
    given = {key: traced for layer in layers for key, traced in layer.items() if key not in names}
    for key, traced in given.items():
        near = next((name for name in sorted(names) if key.upper() == name.upper() or _one_slip(key, name)), None)
        if near is not None:
            report.warning("SPK333", f"unknown variable {key}", traced.origin.span, hint=f"did you mean {near}?")


def _one_slip(left: str, right: str) -> bool:
    """True when one inserted, dropped, changed or swapped character turns ``left`` into ``right``."""
    if abs(len(left) - len(right)) > 1 or left == right:
        return False
    start = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    rest_left, rest_right = left[start:], right[start:]
    return (
        rest_left[1:] == rest_right[1:]
        or rest_left[1:] == rest_right
        or rest_left == rest_right[1:]
        or (rest_left[1::-1] + rest_left[2:] == rest_right if len(rest_left) > 1 else False)
    )
