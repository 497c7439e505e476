"""Rules of a native recipe that relate one field to another, which no schema can state in words that help."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.reading.fields import Fields
from sparkc.recipe.model import Command, EnvValue, Param
from sparkc.recipe.placeholders import params_of
from sparkc.traced import Traced

NODE_PLACEHOLDERS = ("node.name", "node.address", "node.interface", "node.hcas", "head.address")
"""Placeholders that differ per rank; the only ones that env values take."""

PLACEHOLDERS = ("rank", "nnodes", "model", "port", *NODE_PLACEHOLDERS)
"""Placeholders that planning fills in; every other name comes from ``defaults``."""

# What a command written out whole holds itself: arguments, and fields that become flags of an engine.
_ARGUMENTS = ("args", "json_args")
_IMPLYING = ("served_model_name", "host", "parallel")


def check_placeholders(
    command: Command, env: Mapping[str, Traced[EnvValue]], defaults: Collection[str], report: Report
) -> None:
    """Report placeholders that neither ``defaults`` nor sparkc knows, and those that env values do not take."""
    known = (*defaults, *PLACEHOLDERS)
    for param in params_of(command):
        if param.name not in known:
            report.error(
                "SPK152",
                f"unknown placeholder {{{param.name}}}",
                param.span,
                hint=did_you_mean(param.name, known)
                or f"add `{param.name}:` under defaults; built in are {', '.join(PLACEHOLDERS)}",
            )
    for value in env.values():
        for part in value.value or ():
            if isinstance(part, Param) and part.name not in NODE_PLACEHOLDERS:
                report.error(
                    "SPK153",
                    f"{{{part.name}}} is not available in env",
                    part.span,
                    hint=did_you_mean(part.name, NODE_PLACEHOLDERS)
                    or f"env takes {', '.join(NODE_PLACEHOLDERS)}; write other values out, or give them with -e",
                )


def check_defaults(root: Fields, defaults: Mapping[str, Traced[str]], report: Report) -> None:
    """Report parameters that a built-in placeholder would hide; ``port`` and ``model`` may stand in one place."""
    for key in PLACEHOLDERS:
        at_top = key in {"port", "model"}
        if key in defaults and (not at_top or root.node(key) is not None):
            report.error(
                "SPK156",
                f"defaults.{key} and the built-in placeholder {{{key}}} have the same name",
                defaults[key].origin.span,
                hint=f"keep `{key}:` at the top level alone" if at_top else "give the parameter another name",
            )


def check_together(root: Fields, engine: Traced[str], report: Report) -> None:
    """Report fields that the engine needs or cannot use, and fields that contradict each other."""
    plain, whole = engine.value == "plain", root.node("command") is not None
    needed = "command" if plain else "model"
    if root.node(needed) is None and not whole:
        report.error(
            "SPK151",
            f"engine '{engine.value}' needs `{needed}`",
            engine.origin.span,
            hint="add `command:` with the argv items to run"
            if plain
            else "add `model:` with a Hugging Face id or a path in the container",
        )
    for key in _ARGUMENTS if plain else (*_ARGUMENTS, *_IMPLYING) if whole else ():
        if root.node(key) is not None:
            report.error(
                "SPK150",
                f"`{key}` cannot be used with engine 'plain'"
                if plain
                else f"`{key}` and `command` exclude each other: `command` is the whole command",
                root.span(key),
                hint="put all arguments into `command:`",
            )
    solo, cluster = root.boolean("solo_only"), root.boolean("cluster_only")
    if solo is not None and solo.value and cluster is not None and cluster.value:
        report.error(
            "SPK150",
            "solo_only and cluster_only exclude each other",
            root.span("solo_only"),
            hint="keep one of the two",
        )
