"""The keys of a sparkrun recipe: which act, which cannot, and what a reviewer should read about them."""

from __future__ import annotations

from collections.abc import Iterator

from sparkc.diagnostics.suggest import did_you_mean
from sparkc.patterns import pattern
from sparkc.reading.fields import Fields
from sparkc.reading.node import Mapping, Scalar, Sequence
from sparkc.recipe.sparkrun_container import not_carried

_READ = (
    "name", "description", "model", "model_revision", "runtime", "container", "defaults", "env", "command", "mods",
    "metadata", "mode", "min_nodes", "max_nodes", "cluster_only", "solo_only", "executor_config", "include",
    "build_args", "volumes", "runtime_version", "overrides", "containers", "executor",
)  # fmt: skip
# They choose where and how sparkrun launches, measures or publishes, and change nothing in a container.
_LAUNCHER = (
    "sparkrun_version", "recipe_version", "min_sparkrun_version", "benchmark", "readiness", "builder",
    "builder_config", "scheduler", "distribution_config", "runtime_cache", "capabilities", "unsupported_capabilities",
    "maintainer",
)  # fmt: skip
# Why a key has no counterpart in a bundle, and what to do instead.
_NOT_CARRIED = {
    "pre_exec": (
        "before the engine a bundle runs mods, nothing else",
        "where the server needs it, put it into a mod (a folder with run.sh) and list that under mods:",
    ),
    "post_exec": ("a bundle runs nothing after the engine's start", "run it yourself once the server answers"),
    "post_commands": ("a bundle runs nothing on the control machine", "run it yourself once the server answers"),
    "stop_after_post": ("sparkc keeps serving", "remove it"),
    "layout": ("rank 0 is the first of the chosen nodes", "give the order with --nodes a,b"),
    "cluster_config": ("the inventory describes the cluster", "say it in the inventory"),
    "runtime_config": ("it has settings of sparkrun's own launcher", "write what the engine needs into command:"),
    "patches": ("a bundle patches by mods", "put them into a mod (a folder with run.sh) and list that under mods:"),
    "variants": ("one recipe is one server", "move the settings of the one that you mean to the top level"),
    "draft_model": ("sparkrun has no such key either", "name the draft model in the engine's arguments"),
}
_ALTERNATIVE = pattern(r"command_[A-Za-z0-9_]+")
_SHOWN = ("source", "source_revision", "hardware", "notes", "maintainer", "runbook", "vllm_version")


def check_fields(fields: Fields) -> None:
    """Report missing keys, unknown ones, and those that a bundle cannot hold."""
    _require(fields, "model", "add model: with the Hub id or the path in the container")
    _require(fields, "container", "sparkrun chooses an image for the runtime at launch; name it: container: IMAGE")
    alternatives = [key for key in _keys(fields) if _ALTERNATIVE.fullmatch(key)]
    known = {*_READ, *_LAUNCHER, *_NOT_CARRIED, *alternatives}
    for key in _keys(fields):
        if key not in known:
            fields.report.warning(
                "SPK020",
                f"unknown key {key!r}",
                fields.span(key),
                hint=did_you_mean(key, _READ) or "sparkrun does not know it either; remove it if nothing reads it",
            )
    for key, (why, hint) in _NOT_CARRIED.items():
        if _is_set(fields, key):
            not_carried(fields, key, why, hint=hint)
    executor = fields.text("executor")
    if executor is not None and executor.value != "docker":
        not_carried(fields, "executor", "a bundle is run by Docker", hint="remove it")
    if _is_set(fields, "overrides"):
        fields.report.error(
            "SPK143",
            "overrides depend on the cluster and the command line of a launch",
            fields.span("overrides"),
            hint="move the settings that you mean into defaults, env and container",
        )
    if _is_set(fields, "containers"):
        fields.report.error(
            "SPK143",
            "containers gives each host its own image, and all ranks must run the same",
            fields.span("containers"),
            hint="name one image: container: IMAGE",
        )
    if alternatives and fields.node("command") is None:
        fields.report.error(
            "SPK143",
            f"the recipe has no command, but a choice of them: {', '.join(alternatives)}",
            fields.span(alternatives[0]),
            hint=f"rename the one that you mean to command: (say {alternatives[0]})",
        )
    elif alternatives:
        not_carried(fields, alternatives[0], "command: is what runs", hint="remove the other commands")


def read_notes(fields: Fields) -> dict[str, str]:
    """Return what the recipe says about itself and its image, for the bundle's README."""
    notes: dict[str, str] = {}
    build_args = " ".join(text.value for text in fields.texts("build_args"))
    if build_args:
        notes["image built with"] = f"build-and-copy.sh {build_args}"
    version = fields.text("runtime_version")
    if version is not None:
        notes["runtime version"] = version.value
    metadata = fields.mapping.get("metadata")
    for entry in metadata.entries if isinstance(metadata, Mapping) else ():
        if entry.key.text in _SHOWN and isinstance(entry.value, Scalar) and not entry.value.is_null:
            notes[entry.key.text.replace("_", " ")] = " ".join(entry.value.text.split())
    return notes


def _require(fields: Fields, key: str, hint: str) -> None:
    if fields.node(key) is None:
        span = fields.span(key) or fields.mapping.span
        fields.report.error("SPK030", f"required key {key!r} is missing", span, hint=hint)


def _keys(fields: Fields) -> Iterator[str]:
    yield from (entry.key.text for entry in fields.mapping.entries)


def _is_set(fields: Fields, key: str) -> bool:
    """An empty list or mapping asks for nothing."""
    node = fields.node(key)
    if isinstance(node, Mapping):
        return bool(node.entries)
    return bool(node.items) if isinstance(node, Sequence) else node is not None and node.text.lower() != "false"
