"""The file that a recipe was derived from: found, read and compared."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sparkc.cli.inputs import load_recipe
from sparkc.cli.project import RECIPE_SUFFIXES, Project, RecipeFile
from sparkc.diagnostics import Report
from sparkc.planning.deviations import check_deviations
from sparkc.recipe.model import Recipe

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def compare_with_original(project: Project, file: RecipeFile, recipe: Recipe, report: Report) -> None:
    """Report how ``recipe`` differs from what ``derived_from.source`` names, if that is a recipe's file.

    A relative name is looked up beside the recipe's file, then in the project. A URL or a file that is not there
    proves nothing, which is a note.
    """
    source = recipe.derived_from.get("source")
    if source is None:
        return
    path = None if _URL.match(source.value) else _found(project, file, source.value)
    if path is None or path.suffix not in RECIPE_SUFFIXES:
        report.note(
            "SPK392",
            f"the deviations were not compared with {source.value}, which is not a recipe's file here",
            source.origin.span,
            hint="put the original beside the recipe, and name that file, to have the list proved",
        )
        return
    reading = Report()
    original, _ = load_recipe(RecipeFile(path, source.value), reading)
    if original is None:
        report.warning(
            "SPK392",
            f"the deviations were not compared with {source.value}, which sparkc cannot read",
            source.origin.span,
            hint=f"sparkc check {source.value}",
        )
        return
    check_deviations(recipe, original, report)


def _found(project: Project, file: RecipeFile, name: str) -> Path | None:
    places = (file.path.parent / name, project.root / name)
    return next((place for place in places if os.path.isfile(place)), None)  # noqa: PTH113  # no error for odd names
