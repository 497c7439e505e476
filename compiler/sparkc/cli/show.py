"""``sparkc show``: a recipe as sparkc understands it, whatever dialect it was written in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparkc.cli import options
from sparkc.cli.inputs import load_recipe
from sparkc.cli.output import Format, print_diagnostics
from sparkc.cli.project import find_project, find_recipe
from sparkc.diagnostics import Report
from sparkc.diagnostics.escape import printable
from sparkc.inventory.example import example_inventory
from sparkc.planning.resolve import Resolved, resolve
from sparkc.recipe.model import Param, Part, Recipe, Script
from sparkc.traced import Traced


@click.command("show")
@click.argument("name", metavar="RECIPE", shell_complete=options.complete_recipe)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@options.diagnostics_format
def command(name: str, format_: Format, *, as_json: bool) -> int:
    """Show RECIPE resolved: engine, nodes, parameters, and the command before rank flags.

    \b
    Example:
      sparkc show minimax-m2.5-awq
      sparkc show recipes/mine.yaml --json
    """  # noqa: D301 - \b keeps click from wrapping the example
    project = find_project(Path.cwd())
    file = find_recipe(project, name)
    report = Report()
    recipe, _ = load_recipe(file, report)
    resolved = None if recipe is None else resolve(recipe, example_inventory().nodes[0], report)
    print_diagnostics(report.diagnostics, format_, project, {file.name: file.path})
    if recipe is None or resolved is None:
        return 1
    facts = _facts(recipe, resolved)
    if as_json:
        import json  # only for programs

        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        _print(facts)
    return 0


def _facts(recipe: Recipe, resolved: Resolved) -> dict[str, Any]:
    command_ = recipe.command
    facts: dict[str, Any] = {
        "name": recipe.base_name.value,
        "title": recipe.title,
        "description": recipe.description,
        "source": recipe.source.name,
        "dialect": recipe.dialect,
        "engine": recipe.engine.value,
        "engine_version": _value(recipe.engine_version),
        "image": recipe.image.value,
        "model": _value(recipe.model),
        "revision": _value(recipe.revision),
        "nodes": resolved.nodes,
        "parameters": {name: value.value for name, value in resolved.parameters.items()},
        "command": [word.value for word in resolved.words],
        "env": {key: None if value.value is None else _text(value.value) for key, value in recipe.env.items()},
        "mods": [mod.value for mod in recipe.mods],
        "mounts": [f"{mount.source.value}:{mount.target.value}" for mount in recipe.mounts],
        "secrets": [secret.value for secret in recipe.secrets],
    }
    if isinstance(command_, Script):
        facts["script"] = _text(
            (*command_.before, *(p for w in command_.engine for p in w.shell or ()), *command_.after)
        )
    return facts


def _value(traced: Traced[Any] | None) -> Any:
    return None if traced is None else traced.value


def _text(parts: tuple[Part, ...]) -> str:
    return "".join(f"{{{part.name}}}" if isinstance(part, Param) else part.text for part in parts)


def _print(facts: dict[str, Any]) -> None:
    for key, value in facts.items():
        if value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            click.echo(f"{key}:")
            for name, item in value.items():
                click.echo(printable(f"  {name}: {item}"))
        elif isinstance(value, list):
            click.echo(f"{key}:")
            for item in value:
                click.echo(printable(f"  {item}"))
        else:
            click.echo(printable(f"{key}: {value}"))
