"""``sparkc init``: the files of a new project, or a recipe from a command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from sparkc import __version__, resources
from sparkc.cli import options
from sparkc.errors import SparkcError

# Template → where it goes in a project. The schemas go with it, for editors: the first line of each file names one.
_FILES = {
    "inventory.yaml": "inventory.yaml",
    "recipe.yaml": "recipes/hello.yaml",
    "gitignore": ".gitignore",
    "github-workflow.yaml": ".github/workflows/sparkc.yaml",
}
_SCHEMAS = ("recipe.schema.json", "inventory.schema.json", "mod.schema.json", "model.schema.json")


@click.command("init", cls=options.EngineCommand)
@click.argument("directory", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--from-command", metavar="NAME", help="Write recipes/NAME.yaml from the command line after --.")
@click.option("--image", default="eugr/spark-vllm:latest", show_default=True, help="The image of that recipe.")
@click.pass_context
def command(ctx: click.Context, directory: Path, from_command: str | None, image: str) -> int:
    """Start a project in DIRECTORY: inventory, a recipe, .gitignore, a CI workflow, schemas for editors.

    Files that exist are left alone.

    \b
    Example:
      sparkc init my-cluster
      sparkc init --from-command qwen -- vllm serve Qwen/Qwen3-8B --port 8000 -tp 2
    """  # noqa: D301 - \b keeps click from wrapping the example
    words = ctx.meta[options.ENGINE_ARGUMENTS]
    if from_command is None:
        if words:
            raise click.UsageError("a command line after -- needs --from-command NAME")
        return _start(directory)
    if not words:
        raise click.UsageError(
            "--from-command NAME needs a command line: sparkc init --from-command NAME -- vllm serve …"
        )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]+", from_command):
        raise click.UsageError(
            f"{from_command!r} is no name for a recipe: letters, digits, '.', '_' and '-', two at least"
        )
    return _recipe(directory, from_command, image, words)


def _start(directory: Path) -> int:
    files = {target: resources.read_text("templates", f"project/{source}") for source, target in _FILES.items()}
    # Another version may compile other bytes, which CI would take for stale bundles.
    workflow = _FILES["github-workflow.yaml"]
    files[workflow] = files[workflow].replace("{version}", __version__)
    files |= {f"schemas/{name}": resources.read_text("schemas", name) for name in _SCHEMAS}
    for target, text in files.items():
        _create(directory / target, text)
    folder = "" if directory == Path() else f"cd {shlex.quote(str(directory))} && "
    click.echo(f"next: edit inventory.yaml, then run: {folder}sparkc compile recipes/hello.yaml")
    return 0


def _recipe(directory: Path, name: str, image: str, words: Sequence[str]) -> int:
    from sparkc.cli.recipe_from_command import recipe_text  # not needed to start a project

    path = directory / "recipes" / f"{name}.yaml"
    if path.exists():
        raise SparkcError(f"{path} exists", hint="choose another name, or remove it")
    _create(path, recipe_text(name, image, words))
    click.echo(f"next: sparkc compile {shlex.quote(str(path))}")
    return 0


def _create(path: Path, text: str) -> None:
    """Create one file; "x" makes sure that nothing is overwritten, also by a race."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        click.echo(f"kept    {path}")
    except OSError as error:
        raise SparkcError(f"cannot write {path}: {error.strerror}", hint="check the folder's permissions") from error
    else:
        click.echo(f"created {path}")
