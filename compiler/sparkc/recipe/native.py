"""sparkc's own dialect: ``sparkc: 1`` in YAML or TOML. ``schemas/recipe.schema.json`` is its reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkc.diagnostics import Report
from sparkc.reading.fields import Fields
from sparkc.reading.node import Document, Scalar, Sequence
from sparkc.reading.validated import read_validated
from sparkc.recipe.json_args import json_words
from sparkc.recipe.model import (
    Argv,
    Command,
    ContainerSpec,
    Deviation,
    EnvValue,
    HealthSpec,
    MountSpec,
    Parallel,
    Recipe,
    Word,
)
from sparkc.recipe.native_checks import check_defaults, check_placeholders, check_together
from sparkc.recipe.placeholders import parts_of
from sparkc.recipe.quantities import read_duration, read_size
from sparkc.recipe.word_checks import check_items
from sparkc.traced import Traced, from_file

NAME = "native"

_BIG = 4096  # more than any cluster of Sparks; keeps products of parallel sizes small


def matches(document: Document) -> bool:
    """Return whether the document says that it is a native recipe, in whatever version."""
    return document.root.get("sparkc") is not None


def read(document: Document, report: Report) -> Recipe | None:
    """Return the recipe, or None when it has errors, all of which are in ``report``."""
    return read_validated(document, "recipe", report, lambda findings: _recipe(document, findings))


def _recipe(document: Document, report: Report) -> Recipe:
    root = Fields(document.root, "", report)
    name, engine, image = root.text("name"), root.text("engine"), root.text("image")
    defaults = _present(root.text_map("defaults"))
    whole = root.node("command") is not None or (engine is not None and engine.value == "plain")
    command, env = _command_and_env(root, whole=whole)
    check_placeholders(command, env, defaults, report)
    check_defaults(root, defaults, report)
    if engine is not None:
        check_together(root, engine, report)
    missing = Traced("", from_file(document.root.span, ""))  # the schema has complained; the rest is still checked
    parallel = root.fields("parallel")
    return Recipe(
        source=document.source,
        dialect=NAME,
        title=(name or missing).value,
        base_name=name or missing,
        engine=engine or missing,
        image=image or missing,
        command=command,
        arguments_only=not whole,
        description=_plain_text(root, "description"),
        engine_version=root.text("engine_version"),
        image_notes=_plain_text(root, "image_notes"),
        model=root.text("model"),
        parent_model=root.text("parent_model"),
        revision=root.text("revision"),
        served_model_name=root.texts("served_model_name"),
        host=root.text("host"),
        port=root.integer("port", 1, 65535),
        parallel=Parallel(*(parallel.integer(key, 1, _BIG) for key in ("tensor", "pipeline", "data")))
        if parallel is not None
        else Parallel(),
        nodes=root.integer("nodes", 1, _BIG),
        cluster_only=root.boolean("cluster_only"),
        solo_only=root.boolean("solo_only"),
        defaults=defaults,
        env=env,
        secrets=root.texts("secrets"),
        mods=root.texts("mods"),
        mounts=tuple(_mounts(root)),
        entrypoint=_entrypoint(root),
        container=_container(root),
        health=_health(root),
        ready_timeout=read_duration(root, "ready_timeout"),
        earlyoom=_earlyoom(root),
        links=_texts_by_name(root, "links"),
        notes=_texts_by_name(root, "notes"),
        derived_from=_present(root.text_map("derived_from")),
        deviations=tuple(_deviation(item) for item in root.items("deviations")),
    )


def _command_and_env(root: Fields, *, whole: bool) -> tuple[Command, Mapping[str, Traced[EnvValue]]]:
    """Return the command (empty after an error) and the environment, where ``NAME=VALUE cmd`` adds to env."""
    env = _env(root)
    if not whole:
        words = (*_words(root, "args"), *json_words(root, "json_args"))
        return Argv(words), env
    node = root.node("command")
    if isinstance(node, Scalar):
        from sparkc.recipe.shell import parse_command  # 5 ms for the few native recipes whose command is a text

        parsed = parse_command(node, "command", syntax="native", allow_script=False, report=root.report)
        if parsed is None:
            return Argv(()), env
        for key, value in parsed.env.items():
            env[key] = value.over(env.get(key))
        return parsed.command, env
    return Argv(_words(root, "command")), env


def _words(root: Fields, key: str) -> tuple[Word, ...]:
    """Return a list of exact argv items."""
    root.texts(key)  # reports what is no text
    node = root.node(key)
    words = []
    for index, item in enumerate(node.items if isinstance(node, Sequence) else ()):
        if isinstance(item, Scalar):
            words.append(Word(parts_of(item, "native", root.report), from_file(item.span, f"{key}[{index}]")))
    check_items(words, root.report)
    return tuple(words)


def _env(root: Fields) -> dict[str, Traced[EnvValue]]:
    env: dict[str, Traced[EnvValue]] = {}
    fields = root.fields("env")
    for key, traced in root.text_map("env").items():
        node = fields.mapping.get(key) if fields is not None else None
        value = None if traced.value is None or not isinstance(node, Scalar) else parts_of(node, "native", root.report)
        env[key] = Traced(value, traced.origin)
    return env


def _mounts(root: Fields) -> Iterable[MountSpec]:
    for item in root.items("mounts"):
        source, target = item.text("source"), item.text("target")
        read_only, create = item.boolean("read_only"), item.boolean("create")
        if source is not None and target is not None:
            yield MountSpec(
                source=source,
                target=target,
                read_only=read_only is not None and read_only.value,
                create=create is not None and create.value,
            )


def _entrypoint(root: Fields) -> Traced[tuple[str, ...] | None] | None:
    node = root.mapping.get("entrypoint")
    if node is None:
        return None
    origin = from_file(node.span, "entrypoint")
    if isinstance(node, Scalar) and not node.is_null:
        if node.text != "keep":
            root.report.error(
                "SPK158",
                f"entrypoint must be null, a list of words or keep, not {node.text!r}",
                node.span,
                hint=f"write entrypoint: [{node.text}] to run it before the command",
            )
        return Traced(None, origin)
    return Traced(tuple(word.value for word in root.texts("entrypoint")), origin)


def _deviation(item: Fields) -> Deviation:
    key = item.text("key")
    return Deviation(_plain_text(item, "key"), _plain_text(item, "reason"), None if key is None else key.origin.span)


def _container(root: Fields) -> ContainerSpec:
    fields = root.fields("container")
    if fields is None:
        return ContainerSpec()
    ipc = fields.text("ipc")
    ulimits = fields.fields("ulimits")
    names = [entry.key.text for entry in ulimits.mapping.entries] if ulimits is not None else []
    limits = {name: ulimits.integer(name, -1) for name in names} if ulimits is not None else {}
    return ContainerSpec(
        privileged=fields.boolean("privileged"),
        ipc_host=ipc.with_value(True) if ipc is not None else None,
        shm_size=read_size(fields, "shm_size"),
        memory=read_size(fields, "memory"),
        memory_swap=read_size(fields, "memory_swap"),
        pids=fields.integer("pids", 1),
        devices=fields.texts("devices"),
        security_opt=fields.texts("security_opt"),
        ulimits={name: limit for name, limit in limits.items() if limit is not None},
    )


def _health(root: Fields) -> HealthSpec:
    fields = root.fields("health")
    if fields is None:
        return HealthSpec()
    return HealthSpec(
        path=fields.text("path"),
        port=fields.integer("port", 1, 65535),
        start_period=read_duration(fields, "start_period"),
        interval=read_duration(fields, "interval"),
    )


def _earlyoom(root: Fields) -> Traced[str] | None:
    """Return the watchdog's arguments; "" asks for the built-in policy."""
    node = root.node("earlyoom")
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return Traced("", from_file(node.span, "earlyoom")) if node.value else None
    return root.text("earlyoom")


def _present(values: Mapping[str, Traced[str | None]]) -> dict[str, Traced[str]]:
    return {key: Traced(value.value, value.origin) for key, value in values.items() if value.value is not None}


def _texts_by_name(root: Fields, key: str) -> dict[str, str]:
    return {name: value.value for name, value in _present(root.text_map(key)).items()}


def _plain_text(fields: Fields, key: str) -> str:
    text = fields.text(key)
    return text.value if text is not None else ""
