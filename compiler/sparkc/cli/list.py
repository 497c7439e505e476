"""``sparkc list``: the recipes that compile finds by name."""

from __future__ import annotations

from pathlib import Path

import click

from sparkc.cli.inputs import load_recipe
from sparkc.cli.project import RecipeFile, all_recipes, find_project, recipe_name
from sparkc.diagnostics import Report
from sparkc.diagnostics.escape import printable
from sparkc.inventory.example import example_inventory
from sparkc.inventory.model import Node
from sparkc.planning.resolve import resolve

_COLUMNS = ("name", "nodes", "engine", "image", "model")


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="An array of {name, path, dialect, engine, nodes, image, model}.")
def command(*, as_json: bool) -> int:
    """List the recipes of the project, then sparkc's own, with the nodes that compile would take.

    \b
    Example:
      sparkc list
      sparkc list --json | jq -r '.[] | select(.nodes <= 2) | .name'
    """  # noqa: D301 - \b keeps click from wrapping the example
    files = list(all_recipes(find_project(Path.cwd())))
    node = example_inventory().nodes[0]
    rows = {file.name: _row(file, node) for file in files}
    broken = [name for name, row in rows.items() if row is None]
    good = [row for row in rows.values() if row is not None]
    if as_json:
        import json  # only for programs

        click.echo(json.dumps(good, indent=2, ensure_ascii=False))
    else:
        _print_table(good)
    if broken:
        click.echo(
            f"{len(broken)} file(s) under recipes/ do not compile: {', '.join(broken)} (`sparkc check FILE` says why)",
            err=True,
        )
    return 0


def _row(file: RecipeFile, node: Node) -> dict[str, object] | None:
    report = Report()
    recipe, _ = load_recipe(file, report)
    resolved = None if recipe is None else resolve(recipe, node, report)
    if recipe is None or resolved is None:
        return None
    return {
        "name": recipe_name(file),
        "path": file.name,
        "dialect": recipe.dialect,
        "engine": recipe.engine.value,
        "nodes": resolved.nodes,
        "image": recipe.image.value,
        "model": None if recipe.model is None else recipe.model.value,
    }


def _print_table(rows: list[dict[str, object]]) -> None:
    cells = [[str(row[column] or "-") for column in _COLUMNS] for row in rows]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *cells, strict=True)]
    for line in ([column.upper() for column in _COLUMNS], *cells):
        click.echo(printable("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()))
