"""The recipe formats there are. The first that recognises a file reads it; a new one is one file and one line.

A dialect is a module with ``matches(document) -> bool`` and ``read(document, report) -> Recipe | None``. Modules are
imported in this order until one matches: the shell lexer of the foreign ones is 6 ms that a native recipe need not pay.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from sparkc.diagnostics import Report
from sparkc.reading.node import Document
from sparkc.reading.read import decode, read_document
from sparkc.recipe.model import Recipe

_DIALECTS = ("native", "sm121", "sparkrun", "spark_vllm_docker")


def read_recipe_file(
    name: str, data: bytes, report: Report, read_sibling: Callable[[str], bytes | None] | None = None
) -> Recipe | None:
    """Return the recipe in a file of any dialect; None after an error.

    ``name`` is the file's name as the user should see it; its suffix tells TOML and launch scripts from YAML.
    ``read_sibling`` returns the bytes of a file in the recipe's folder, None when there is none of that name: a
    sparkrun recipe may ``include`` one.
    """
    if name.lower().endswith(".sh"):
        from sparkc.recipe import launch_script  # rare

        source = decode(name, data, report)
        return None if source is None else launch_script.read(source, report)
    document = read_document(name, data, report)
    if document is not None and document.root.get("include") is not None and document.root.get("sparkc") is None:
        from sparkc.recipe.sparkrun_include import with_includes  # rare

        document = with_includes(document, read_sibling, report)
    return None if document is None else read_recipe(document, report)


def read_recipe(document: Document, report: Report) -> Recipe | None:
    """Return the recipe in a document, whatever its dialect; None after an error."""
    for name in _DIALECTS:
        dialect = import_module(f"sparkc.recipe.{name}")
        if dialect.matches(document):
            recipe: Recipe | None = dialect.read(document, report)
            return recipe
    keys = [entry.key for entry in document.root.entries]
    report.error(
        "SPK130",
        f"{document.source.name} is not a recipe (its keys: {', '.join(key.text for key in keys[:6]) or 'none'})",
        keys[0].span if keys else document.root.span,
        hint="a recipe has `sparkc: 1`, or `recipe_version`, `container` and `command` (spark-vllm-docker), "
        "`runtime` (sparkrun), or `docker_image` and `engine` (sm121); a launch script ends in .sh",
    )
    return None
