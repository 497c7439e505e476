"""What a sparkrun recipe says, as a ``Recipe``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkc.diagnostics import Report
from sparkc.reading.fields import Fields
from sparkc.reading.node import Document, Scalar
from sparkc.reading.node import Mapping as MappingNode
from sparkc.recipe.command_text import CommandText
from sparkc.recipe.foreign import file_identity
from sparkc.recipe.json_args import json_text
from sparkc.recipe.model import Recipe
from sparkc.recipe.shell import ParsedCommand, parse_text
from sparkc.recipe.sparkrun_container import hub_cache, read_container, read_volumes
from sparkc.recipe.sparkrun_env import node_ip, read_env
from sparkc.recipe.sparkrun_fields import check_fields, read_notes
from sparkc.recipe.sparkrun_flags import generated_command, implied_defaults
from sparkc.recipe.sparkrun_nodes import read_node_range
from sparkc.recipe.sparkrun_runtime import engine_of, is_known
from sparkc.recipe.sparkrun_template import collapsed, command_atoms, settle
from sparkc.traced import Traced, from_file


def read(document: Document, report: Report) -> Recipe | None:
    """Return the recipe, or None when its model, image, runtime or command is missing or unusable."""
    fields = Fields(document.root, "", report, lenient=True)
    check_fields(fields)
    model, image, revision = fields.text("model"), fields.text("container"), fields.text("model_revision")
    runtime, title, description = fields.text("runtime"), fields.text("name"), _description(fields)
    known_runtime = is_known(runtime, report)
    values = _parameters(fields, model, revision)
    nodes = read_node_range(fields, values)
    mods, notes = fields.texts("mods"), read_notes(fields)
    settings = fields.fields("executor_config")
    container = read_container(settings)
    mounts = (*read_volumes(settings, "volumes"), *read_volumes(fields, "volumes"))
    env = read_env(fields, values, revision)
    parsed = _command(fields, values) if known_runtime else None
    if model is None or image is None or not known_runtime or (parsed is None and _has_command(fields)):
        return None
    engine = engine_of(runtime, None if parsed is None else parsed.command, values, report)
    for name, default in implied_defaults(engine.value).items():
        values.setdefault(name, default)
    if parsed is None:
        at = fields.span("defaults") or fields.mapping.span
        parsed = ParsedCommand(generated_command(engine.value, model, revision, values, at, report), {})
    command = settle(parsed.command, values, report)
    for key, value in parsed.env.items():
        env[key] = value.over(env.get(key))
    texts, at = tuple(_texts(fields)), fields.span("command") or fields.mapping.span
    env |= node_ip(env, texts, at)
    identity = file_identity(document.source)
    return Recipe(
        source=document.source,
        dialect="sparkrun",
        title=title.value if title is not None else identity.value,
        base_name=identity,
        engine=engine,
        image=image,
        command=command,
        description=description,
        model=model,
        revision=revision,
        cluster_only=nodes.cluster_only,
        solo_only=nodes.solo_only,
        defaults=values,
        env=env,
        mods=mods,
        mounts=(*mounts, *hub_cache(texts, mounts, at, report)),
        container=container,
        notes=notes,
    )


def _parameters(fields: Fields, model: Traced[str] | None, revision: Traced[str] | None) -> dict[str, Traced[str]]:
    """Return ``defaults``, and what sparkrun adds to them. Lists and mappings are JSON, null is absent."""
    section = fields.fields("defaults")
    values: dict[str, Traced[str]] = {}
    for entry in section.mapping.entries if section is not None else ():
        if isinstance(entry.value, Scalar) and entry.value.is_null:
            continue
        path = f"defaults.{entry.key.text}"
        text = (
            collapsed(entry.value.text)
            if isinstance(entry.value, Scalar)
            else json_text(entry.value, path, fields.report)
        )
        values[entry.key.text] = Traced(text, from_file(entry.value.span, path))
    for name, value in (("model", model), ("model_revision", revision), ("resolved_model_path", model)):
        if value is not None:
            values.setdefault(name, value)
    return values


def _has_command(fields: Fields) -> bool:
    node = fields.node("command")
    return node is not None and not (isinstance(node, Scalar) and not node.text.strip())


def _command(fields: Fields, values: Mapping[str, Traced[str]]) -> ParsedCommand | None:
    node = fields.node("command")
    if not _has_command(fields):
        return None
    if not isinstance(node, Scalar):
        fields.text("command")  # says what is wrong with a list or a mapping
        return None
    atoms = command_atoms(node, values, fields.report)
    if atoms is None:
        return None
    return parse_text(CommandText(node, "command", "shell", atoms), allow_script=True, report=fields.report)


def _description(fields: Fields) -> str:
    """``metadata.description`` is the newer place."""
    metadata = fields.fields("metadata")
    newer = metadata.text("description") if metadata is not None else None
    text = fields.text("description") or newer
    return "" if text is None else text.value.strip()


def _texts(fields: Fields) -> Iterator[str]:
    """Yield what reaches the container as text."""
    for key in ("command", "defaults", "env"):
        node = fields.node(key)
        nodes = [node] if node is not None else []
        while nodes:
            found = nodes.pop()
            if isinstance(found, Scalar):
                yield found.text
            elif isinstance(found, MappingNode):
                nodes += [entry.value for entry in found.entries]
            else:
                nodes += found.items
