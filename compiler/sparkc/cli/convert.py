"""``sparkc convert``: a recipe of any dialect as a native recipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from sparkc.cli import options
from sparkc.cli.inputs import load_recipe, read_bytes
from sparkc.cli.output import print_diagnostics, shown
from sparkc.cli.project import RecipeFile, find_project, find_recipe
from sparkc.diagnostics import Diagnostic, Report
from sparkc.engines.registry import ENGINES
from sparkc.errors import SparkcError
from sparkc.reading.node import Document, Scalar
from sparkc.reading.read import read_document
from sparkc.recipe.comments import Comment, document_comments, shell_comments
from sparkc.recipe.model import Argv, Recipe
from sparkc.recipe.native_writer import CannotWrite, Format, native_text
from sparkc.recipe.native_writer_check import check_readable
from sparkc.recipe.native_writer_fields import native_fields
from sparkc.recipe.native_writer_form import native_form
from sparkc.recipe.native_writer_model import Start
from sparkc.record import replace
from sparkc.traced import Traced

# What reading says about a value that does less here than where the recipe comes from.
_LOST = frozenset({"SPK020", "SPK128", "SPK129", "SPK139", "SPK143", "SPK144"})


@click.command("convert")
@click.argument("recipe_name", metavar="FILE", shell_complete=options.complete_recipe)
@click.option(
    "--to",
    "format_",
    type=click.Choice(["yaml", "toml"]),
    help="The notation; without it that of --output's suffix, else YAML.",
)
@click.option("--output", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write there.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
def command(recipe_name: str, format_: Format | None, output: Path | None, *, force: bool) -> int:
    """Print a recipe of any dialect as a native recipe, which compiles to the same ranks.

    Comments are kept; what cannot be carried over becomes a comment. A command that needs a shell is refused:
    native recipes hold exact arguments.

    \b
    Example:
      sparkc convert old/qwen3.yaml --output recipes/qwen3.yaml
    """  # noqa: D301 - \b keeps click from wrapping the example
    if output is not None and output.exists() and not force:
        raise SparkcError(f"{output} exists", hint="choose another name, or add --force")
    project = find_project(Path.cwd())
    file = find_recipe(project, recipe_name)
    report = Report()
    suffix: Format = "toml" if output is not None and output.suffix == ".toml" else "yaml"
    text = convert(file, format_ or suffix, report)
    print_diagnostics(report.diagnostics, "text", project, {file.name: file.path})
    if text is None:
        return 1
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)
        click.echo(f"next: sparkc compile {shown(output)}", err=True)
    return 0


def convert(file: RecipeFile, format_: Format, report: Report) -> str | None:
    """Return the text of the native recipe, or None after an error."""
    recipe, _ = load_recipe(file, report)
    if recipe is None or report.failed:
        return None
    document = None if file.path.suffix == ".sh" else read_document(file.name, read_bytes(file.path), Report())
    form = native_form(_with_mods(recipe, file.path.parent), _start(recipe), report)
    if form is None:
        return None
    comments = [*_comments(recipe, document), *form.remarks, *_lost(report.diagnostics, recipe)]
    _, places = native_fields(form.recipe)
    try:
        text = native_text(form.recipe, format_, comments, document)
    except CannotWrite as fault:
        report.error(
            "SPK160",
            f"{fault.path} is null, which TOML cannot say",
            places.get(tuple(fault.path.split("."))),
            hint="convert it to YAML (--to yaml)",
        )
        return None
    return text if check_readable(f"{file.path.stem}.{format_}", text, places, report) else None


def _start(recipe: Recipe) -> Start | None:
    engine = ENGINES.get(recipe.engine.value)
    program = () if engine is None else engine.program(recipe)
    if engine is None or not program:
        return None
    return Start(program, engine.model_words("-")[:-1])


def _with_mods(recipe: Recipe, folder: Path) -> Recipe:
    """In a foreign recipe ``mods/x`` is the mod ``x``, wherever it lies; in a native one it is a path."""
    if recipe.dialect == "native":
        return recipe
    mods = tuple(mod if (folder / mod.value).exists() else _named(mod) for mod in recipe.mods)
    return replace(recipe, mods=mods)


def _named(mod: Traced[str]) -> Traced[str]:
    return mod.with_value(mod.value.removeprefix("mods/"))


def _comments(recipe: Recipe, document: Document | None) -> Iterator[Comment]:
    if document is None:
        if isinstance(recipe.command, Argv):  # a script keeps its comments
            yield from shell_comments(Scalar(recipe.source.text, "plain", recipe.source.span(0, 0)))
        return
    whole = isinstance(recipe.command, Argv)
    for comment in document_comments(document, commands=whole):
        if not comment.text.startswith(("# yaml-language-server:", "#:schema")):
            yield comment


def _lost(diagnostics: tuple[Diagnostic, ...], recipe: Recipe) -> Iterator[Comment]:
    for found in diagnostics:
        if found.code in _LOST and found.span is not None and found.span.source.name == recipe.source.name:
            yield Comment(f"# {found.message}", found.span.line, found.span.column)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise SparkcError(f"cannot write {path}: {error.strerror}", hint="check the folder's permissions") from error
