"""``sparkc check``: everything that is wrong with recipes and inventories, without writing anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from sparkc.cli import options
from sparkc.cli.inputs import InventoryFile, is_env_file, load_inputs, load_inventory, plan_of, read_bytes
from sparkc.cli.output import Format, exit_code, print_diagnostics
from sparkc.cli.project import RECIPE_SUFFIXES, Project, RecipeFile, find_project, find_recipe, is_text
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.inventory.load import read_inventory
from sparkc.planning.overrides import Overrides
from sparkc.reading.node import Document
from sparkc.reading.read import read_document


@click.command("check")
@click.argument("names", nargs=-1, required=True, metavar="FILE…", shell_complete=options.complete_recipe)
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@options.diagnostics_format
def command(names: tuple[str, ...], format_: Format, *, strict: bool) -> int:
    """Diagnose recipes, inventories and facts of models. FILE is a file, a folder of them, or a recipe's name.

    A recipe is planned for as many nodes of the built-in example as it needs, so that what only shows in a plan
    is found too; `sparkc compile` checks it against your own nodes.

    \b
    Example:
      sparkc check recipes/mine.yaml inventory.yaml
      sparkc check --strict --format github recipes
    """  # noqa: D301 - \b keeps click from wrapping the example
    project = find_project(Path.cwd())
    report = Report()
    paths: dict[str, Path] = {}
    count = 0
    for file in _files(project, names):
        count += 1
        paths[file.name] = file.path
        _check(project, file, report)
    print_diagnostics(report.diagnostics, format_, project, paths)
    failed = exit_code(report, strict=strict)
    if not failed and format_ == "text":
        click.echo(f"{count} file(s) checked: no errors")
    return failed


def _files(project: Project, names: tuple[str, ...]) -> Iterator[RecipeFile]:
    """Yield what to check; a file keeps the path that was typed, so that nothing in a report is ambiguous."""
    for name in names:
        path = Path(name)
        if path.is_dir():
            found = _recipes_below(path)
            if not found:
                raise SparkcError(f"{name} holds no recipes", hint=f"recipes end in {', '.join(RECIPE_SUFFIXES)}")
            for file in found:
                if not is_text(file):
                    shown = str(file).encode("utf-8", "backslashreplace").decode()
                    raise SparkcError(f"the name {shown} is not UTF-8", hint="rename the file")
            yield from (RecipeFile(file, str(file), outside=True) for file in found)
        elif path.is_file():
            yield RecipeFile(path, name, outside=True)
        else:
            yield find_recipe(project, name)


def _recipes_below(folder: Path) -> list[Path]:
    """Return the files below ``folder`` that end like recipes, sorted, without those that are something else.

    Bundles, mods, schemas and hidden folders hold YAML of other kinds.
    """
    from sparkc.bundle.manifest import MANIFEST  # only to tell bundles from other folders
    from sparkc.bundle.write import JOURNAL

    found = []
    for place, folders, files in os.walk(folder):
        if MANIFEST in files or JOURNAL in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name not in ("mods", "schemas") and not name.startswith(".")]
        paths = (Path(place, name) for name in files)
        found += [path for path in paths if path.suffix in RECIPE_SUFFIXES and path.is_file()]
    return sorted(found)


def _check(project: Project, file: RecipeFile, report: Report) -> None:
    own = Report()
    document = None
    if is_env_file(file.path):
        # Who logs in is no part of such a file; any name will do to read it.
        load_inventory(InventoryFile(file.path, file.name, chosen=True), Overrides(user="user"), own)
    elif file.path.suffix != ".sh":
        document = read_document(file.name, read_bytes(file.path), own)
    if document is not None and document.root.get("sparkc_model") is not None:
        from sparkc.fit.facts import read_model_file  # rare

        read_model_file(document, own)
    elif document is not None and _is_inventory(document):
        read_inventory(document, own)
    elif document is not None or file.path.suffix == ".sh":
        inputs = load_inputs(project, file, InventoryFile(None, None), Overrides(), own)
        if inputs is not None:
            plan_of(project, inputs, own)
    for diagnostic in own.diagnostics:
        # Which inventory a recipe would meet says nothing about the recipe.
        if diagnostic.code != "SPK704":
            report.add(diagnostic)


def _is_inventory(document: Document) -> bool:
    keys = {entry.key.text for entry in document.root.entries}
    return "sparkc_inventory" in keys or (
        "nodes" in keys and not keys & {"sparkc", "command", "container", "docker_image", "engine", "image"}
    )
