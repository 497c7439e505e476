"""The recipe formats there are. The first that recognises a file reads it; a new one is one file and one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sparkc.diagnostics import Report
from sparkc.reading.node import Document
from sparkc.reading.read import decode, read_document
from sparkc.reading.source import Span
from sparkc.recipe import native, sm121, spark_vllm_docker
from sparkc.recipe.model import Recipe
from sparkc.recipe.unsupported import is_launch_script, is_sparkrun, refuse_launch_script, refuse_sparkrun


class _Dialect(NamedTuple):
    matches: Callable[[Document], bool]
    read: Callable[[Document, Report], Recipe | None]


_DIALECTS = (
    _Dialect(native.matches, native.read),
    _Dialect(sm121.matches, sm121.read),
    _Dialect(is_sparkrun, refuse_sparkrun),
    _Dialect(spark_vllm_docker.matches, spark_vllm_docker.read),
)


def read_recipe_file(name: str, data: bytes, report: Report) -> Recipe | None:
    """Return the recipe in a file of any dialect; None after an error.

    ``name`` is the file's name as the user should see it; its suffix tells TOML and launch scripts from YAML.
    """
    if is_launch_script(name):
        source = decode(name, data, report)
        if source is not None:
            refuse_launch_script(Span(source, 1, 1, 1, 1), report)
        return None
    document = read_document(name, data, report)
    return None if document is None else read_recipe(document, report)


def read_recipe(document: Document, report: Report) -> Recipe | None:
    """Return the recipe in a document, whatever its dialect; None after an error."""
    for dialect in _DIALECTS:
        if dialect.matches(document):
            return dialect.read(document, report)
    keys = [entry.key for entry in document.root.entries]
    report.error(
        "SPK130",
        f"{document.source.name} is not a recipe (its keys: {', '.join(key.text for key in keys[:6]) or 'none'})",
        keys[0].span if keys else document.root.span,
        hint="a recipe has `sparkc: 1`, or `recipe_version`, `container` and `command` (spark-vllm-docker), "
        "or `docker_image` and `engine` (sm121)",
    )
    return None
