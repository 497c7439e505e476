"""Recipes of eugr/spark-vllm-docker, version 1, with the fields that its forks added.

https://github.com/eugr/spark-vllm-docker
"""

from __future__ import annotations

from sparkc.diagnostics import Report, Severity
from sparkc.reading.fields import Fields
from sparkc.reading.node import Document, Scalar
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.foreign import file_identity, has_keys, literal_env, plain_engine
from sparkc.recipe.model import Argv, Command, ContainerSpec, EnvValue, Recipe
from sparkc.recipe.shell import ParsedCommand, parse_command
from sparkc.recipe.spark_vllm_docker_launch import read_container, read_earlyoom
from sparkc.recipe.word_checks import visible
from sparkc.traced import Traced, from_file

NAME = "spark-vllm-docker"

_REQUIRED = ("name", "recipe_version", "container", "command")
_OPTIONAL = ("description", "model", "mods", "defaults", "env", "build_args", "cluster_only", "solo_only")
# Keys of forks, which upstream ignores.
_FORKS = ("model_revision", "model_required_files", "launch", "pull_image")
# The launcher has a flag of this name, and does not look for it in recipes.
_RAY = "ray"
# What a shell changes between the double quotes of `export KEY="VALUE"`, which the launcher writes.
_LIVE = "$`\\"


def matches(document: Document) -> bool:
    """Any file with a container or a command that no dialect before this one has claimed."""
    return any(document.root.get(key) is not None for key in ("container", "command"))


def read(document: Document, report: Report) -> Recipe | None:
    """Return the recipe, or None when its name, container or command is missing or unusable."""
    fields = Fields(document.root, "", report, lenient=True)
    fields.unknown((*_REQUIRED, *_OPTIONAL, *_FORKS, _RAY), severity=Severity.WARNING)
    _tell_of_ray(fields)
    has_keys(fields, _REQUIRED)
    title, image, description = fields.text("name"), fields.text("container"), fields.text("description")
    model, revision = fields.text("model"), fields.text("model_revision")
    cluster_only, solo_only = fields.boolean("cluster_only"), fields.boolean("solo_only")
    defaults, env, mods, notes = _defaults(fields), _env(fields), fields.texts("mods"), _notes(fields)
    launch = fields.fields("launch")
    container = read_container(launch) if launch else ContainerSpec()
    earlyoom = read_earlyoom(launch) if launch else None
    parsed = _command(fields)
    for key, value in (parsed.env if parsed else {}).items():
        env[key] = value.over(env.get(key))
    if title is None or image is None or parsed is None:
        return None
    return Recipe(
        source=document.source,
        dialect=NAME,
        title=title.value,
        base_name=file_identity(document.source),
        engine=_engine(parsed.command, report),
        image=image,
        command=parsed.command,
        description=description.value if description else "",
        model=model,
        revision=revision,
        cluster_only=cluster_only,
        solo_only=solo_only,
        defaults=defaults,
        env=env,
        mods=mods,
        container=container,
        earlyoom=earlyoom,
        notes=notes,
    )


def _tell_of_ray(fields: Fields) -> None:
    asked = fields.boolean(_RAY)
    if asked is None:
        return
    if asked.value:
        fields.report.warning(
            "SPK129",
            "ray: true is not carried over: spark-vllm-docker's launcher starts vLLM on Ray for its flag alone",
            asked.origin.span,
            hint="compile with --ray",
        )
    else:
        fields.report.note(
            "SPK129",
            "ray: false changes nothing: several nodes run without Ray unless --ray is given, here and in"
            " spark-vllm-docker's launcher",
            asked.origin.span,
            hint="remove it",
        )


def _command(fields: Fields) -> ParsedCommand | None:
    node = fields.node("command")
    if not isinstance(node, Scalar):
        fields.text("command")  # says what is wrong with a list or a mapping
        return None
    return parse_command(node, "command", syntax="v1", allow_script=True, report=fields.report)


def _engine(command: Command, report: Report) -> Traced[str]:
    """The launcher gives rank flags to every program; a bundle gives them to vLLM, which understands them."""
    words = command.words if isinstance(command, Argv) else command.engine
    found = find_engine([visible(word) for word in words])
    if found is not None and found.engine == "vllm":
        return Traced("vllm", words[found.start].origin)
    return plain_engine(command, report)


def _defaults(fields: Fields) -> dict[str, Traced[str]]:
    mapping = fields.fields("defaults")
    defaults: dict[str, Traced[str]] = {}
    for entry in mapping.mapping.entries if mapping else ():
        if isinstance(entry.value, Scalar) and not entry.value.is_null:
            origin = from_file(entry.value.span, f"defaults.{entry.key.text}")
            defaults[entry.key.text] = Traced(entry.value.text, origin)
            continue
        found = "empty" if isinstance(entry.value, Scalar) else "a list or a mapping"
        fields.report.error(
            "SPK132",
            f"defaults.{entry.key.text} is {found}; a parameter has one value",
            entry.value.span if not isinstance(entry.value, Scalar) else entry.key.span,
            hint="write the text that the command should get, in quotes: 'a b' outside quotes becomes two words",
        )
    return defaults


def _env(fields: Fields) -> dict[str, Traced[EnvValue]]:
    values = fields.text_map("env")
    for key, traced in values.items():
        live = next((char for char in traced.value or "" if char in _LIVE), None)
        if live is not None:
            fields.report.warning(
                "SPK128",
                f"env.{key} keeps its {live} as it is, where spark-vllm-docker's launcher lets a shell expand it",
                traced.origin.span,
                hint="write the value that the container should see",
            )
    return literal_env(values)


def _notes(fields: Fields) -> dict[str, str]:
    """What says how the image was made stays visible to the reviewer; the rest of the forks' keys does not act."""
    pull = fields.boolean("pull_image")
    build_args = " ".join(text.value for text in fields.texts("build_args"))
    if fields.node("model_required_files") is not None:
        fields.report.note(
            "SPK129",
            "model_required_files is not carried over: sparkc does not look into model files",
            fields.span("model_required_files"),
            hint="pin the model with model_revision",
        )
    notes = {"image built with": f"build-and-copy.sh {build_args}"} if build_args else {}
    return {**notes, "image": "a stock image that is pulled, not built"} if pull is not None and pull.value else notes
