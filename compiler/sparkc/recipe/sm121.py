"""TOML recipes of the sm121 launcher: fields for what the launcher adds, shell fragments for the rest."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report, Severity
from sparkc.reading.fields import Fields
from sparkc.reading.node import Document
from sparkc.recipe.foreign import file_identity, has_keys, literal_env
from sparkc.recipe.model import Argv, ContainerSpec, MountSpec, Parallel, Recipe, Text, Word
from sparkc.recipe.quantities import read_size
from sparkc.recipe.splitting import split_words
from sparkc.recipe.word_checks import check_characters, visible
from sparkc.traced import Traced

NAME = "sm121"

_REQUIRED = ("engine", "docker_image", "model")
_OPTIONAL = (
    "name",
    "image_notes",
    "entrypoint",
    "parent_model",
    "port",
    "required_nodes",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "distributed_backend",
    "shm_size",
    "devices",
    "args",
    "extra_mounts",
    "env",
    "ready_timeout",
    "links",
)
_BACKEND = "--distributed-executor-backend"


def matches(document: Document) -> bool:
    """Files with ``docker_image`` and ``engine``."""
    return all(document.root.get(key) is not None for key in ("docker_image", "engine"))


def read(document: Document, report: Report) -> Recipe | None:
    """Return the recipe, or None when its engine, image or model is missing or unusable."""
    fields = Fields(document.root, "", report, lenient=True)
    fields.unknown((*_REQUIRED, *_OPTIONAL), severity=Severity.WARNING)
    has_keys(fields, _REQUIRED)
    identity = file_identity(document.source)
    engine, image, model = fields.text("engine"), fields.text("docker_image"), fields.text("model")
    title, image_notes = fields.text("name"), fields.text("image_notes")
    parent_model, port = fields.text("parent_model"), fields.integer("port", 1, 65535)
    nodes, parallel = fields.integer("required_nodes", 1), _parallel(fields)
    words, entrypoint = _words(fields), fields.texts("entrypoint")
    words += _backend(words, fields, engine)
    container = ContainerSpec(shm_size=read_size(fields, "shm_size"), devices=fields.texts("devices"))
    env, mounts = literal_env(fields.text_map("env")), _mounts(fields)
    ready_timeout = fields.integer("ready_timeout", 1)
    links = {key: traced.value for key, traced in fields.text_map("links").items() if traced.value is not None}
    if engine is None or image is None or model is None:
        return None
    return Recipe(
        source=document.source,
        dialect=NAME,
        title=title.value if title else identity.value,
        base_name=identity,
        engine=engine,
        image=image,
        command=Argv(words),
        arguments_only=True,
        image_notes=image_notes.value if image_notes else "",
        model=model,
        parent_model=parent_model,
        port=port,
        parallel=parallel,
        nodes=nodes,
        env=env,
        mounts=mounts,
        entrypoint=Traced(tuple(word.value for word in entrypoint), entrypoint[0].origin) if entrypoint else None,
        container=container,
        ready_timeout=ready_timeout,
        links=links,
    )


def _parallel(fields: Fields) -> Parallel:
    return Parallel(
        tensor=fields.integer("tensor_parallel_size", 1),
        pipeline=fields.integer("pipeline_parallel_size", 1),
        data=fields.integer("data_parallel_size", 1),
    )


def _words(fields: Fields) -> tuple[Word, ...]:
    """Split the fragments of ``args``."""
    words: list[Word] = []
    for fragment in fields.texts("args"):
        split = split_words(fragment.value)
        if split is None:
            fields.report.error(
                "SPK111",
                "this fragment opens a quote that it does not close",
                fragment.origin.span,
                hint="args are shell fragments: close the quote within the item, or escape it with a backslash",
            )
            continue
        words += [Word((Text(text),), fragment.origin) for text in split]
    check_characters(words, fields.report)
    return tuple(words)


def _backend(words: Sequence[Word], fields: Fields, engine: Traced[str] | None) -> tuple[Word, ...]:
    """Return the flag that ``distributed_backend`` stands for, unless ``args`` has it. Only vLLM has a choice."""
    backend = fields.text("distributed_backend")
    if backend is None or any(visible(word).split("=")[0] == _BACKEND for word in words):
        return ()
    if engine is not None and engine.value != "vllm":
        fields.report.note(
            "SPK129",
            f"distributed_backend is not carried over: engine {engine.value} has no choice of one",
            backend.origin.span,
            hint="remove it",
        )
        return ()
    return tuple(Word((Text(text),), backend.origin) for text in (_BACKEND, backend.value))


def _mounts(fields: Fields) -> tuple[MountSpec, ...]:
    mounts = []
    for item in fields.items("extra_mounts"):
        item.unknown(("host", "container"), severity=Severity.WARNING)
        source, target = item.text("host"), item.text("container")
        if has_keys(item, ("host", "container")) and source is not None and target is not None:
            mounts.append(MountSpec(source, target, create=True))
    return tuple(mounts)
