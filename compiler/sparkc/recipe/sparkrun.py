"""Recipes of sparkrun, version 2, and files without a version or with one that nobody has defined.

https://github.com/spark-arena/sparkrun
"""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.reading.node import Document, Scalar
from sparkc.recipe.model import Recipe


def matches(document: Document) -> bool:
    """Files with ``runtime``, with ``{model}`` in the command, or with a version that is absent or not "1"."""
    root = document.root
    command, version = root.get("command"), root.get("recipe_version")
    if root.get("runtime") is not None or (isinstance(command, Scalar) and "{model}" in command.text):
        return True
    if version is None:
        return command is not None or root.get("container") is not None
    return isinstance(version, Scalar) and version.text != "1"


def read(document: Document, report: Report) -> Recipe | None:
    """Return the recipe, or None when its model, image, runtime or command is missing or unusable."""
    from sparkc.recipe import sparkrun_recipe  # 4 ms for the dialects that come after this one

    return sparkrun_recipe.read(document, report)
