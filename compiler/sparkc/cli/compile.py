"""``sparkc compile``: a recipe becomes a bundle; ``--check`` proves that committed bundles are what compile makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sparkc.bundle.load import load_manifest
from sparkc.bundle.manifest import MANIFEST, Manifest
from sparkc.bundle.model import Files
from sparkc.bundle.render import render
from sparkc.bundle.write import JOURNAL, WriteResult, write_bundle
from sparkc.cli import options
from sparkc.cli.inputs import InventoryFile, inventory_file, load_inputs, plan_of
from sparkc.cli.output import Format, from_error, print_diagnostics, shown
from sparkc.cli.project import Project, RecipeFile, find_project, find_recipe
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.planning.model import Plan
from sparkc.planning.overrides import Overrides
from sparkc.planning.secret_shapes import check_files
from sparkc.reading.source import CATALOGUE
from sparkc.record import dataclass


@dataclass(frozen=True)
class Writing:
    """How bundles are written or checked, which no bundle records."""

    out: Path
    format_: Format
    force: bool
    verify: bool


@dataclass(frozen=True)
class Compiled:
    """One bundle in memory, ready to be written or compared."""

    plan: Plan
    files: Files
    directory: Path


@click.command("compile", cls=options.EngineCommand)
@click.argument("names", nargs=-1, metavar="RECIPE | BUNDLE…", shell_complete=options.complete_recipe)
@options.overrides
@options.inventory
@click.option("--check", is_flag=True, help="Compare bundles with what compile makes of their record; never write.")
@click.option("--all", "everything", is_flag=True, help="Compile every bundle in out/ again, as recorded.")
@click.option("--verify", is_flag=True, help="Let docker-compose parse every compose file.")
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Where bundles are (out/)."
)
@options.diagnostics_format
@click.pass_context
def command(ctx: click.Context, /, names: tuple[str, ...], **values: Any) -> int:
    """Compile RECIPE into out/<name>/, one self-contained directory per rank.

    RECIPE is a file, or the name of one under the project's recipes/ or in sparkc's own catalogue. Arguments after
    -- go to the engine. The command line is recorded in the bundle, so that --check and --all need no arguments.

    \b
    Example:
      sparkc compile minimax-m2.5-awq --nodes 2 --port 9000
      sparkc compile recipes/mine.yaml --nodes spark-3,spark-4 -- --max-num-seqs 4
      sparkc compile --check
    """  # noqa: D301 - \b keeps click from wrapping the example
    project = find_project(Path.cwd())
    how = Writing(values["out"] or project.out, values["format_"], values["force"], values["verify"])
    overrides = options.build_overrides(ctx, values)
    if values["check"] or values["everything"]:
        if overrides != Overrides() or values["inventory"] is not None:
            raise click.UsageError("--check and --all take what bundle.json records; change it by compiling the recipe")
        if values["check"]:
            from sparkc.cli.compile_check import check_bundles  # difflib and the rest of a comparison

            return check_bundles(project, bundle_directories(how.out, names), how)
        return _compile_again(project, bundle_directories(how.out, names), how)
    if len(names) != 1:
        raise click.UsageError(
            "name one recipe (`sparkc list` shows them), or use --all"
            if names
            else "which recipe? `sparkc list` shows them"
        )
    report = Report()
    recipe = find_recipe(project, names[0])
    inventory = inventory_file(project, values["inventory"])
    compiled = compile_recipe(project, recipe, inventory, overrides, how.out, report)
    result = None if compiled is None else _write(compiled, report, how)
    if result is not None and recipe.outside:
        _warn_outside(project, recipe, report)
    places = {recipe.name: recipe.path} | ({} if compiled is None else manifest_place(compiled.directory))
    print_diagnostics(report.diagnostics, how.format_, project, places)
    if compiled is None or result is None:
        return 1
    if how.format_ == "text":
        _summarise(compiled, result)
    return 0


def compile_recipe(
    project: Project, recipe: RecipeFile, inventory: InventoryFile, overrides: Overrides, out: Path, report: Report
) -> Compiled | None:
    """Return the bundle in memory, or None after an error."""
    inputs = load_inputs(project, recipe, inventory, overrides, report)
    plan = None if inputs is None else plan_of(project, inputs, report)
    if plan is None:
        return None
    files = render(plan)
    check_files(((file.path, file.data) for file in files), report)
    return None if report.failed else Compiled(plan, files, out / plan.name)


def compile_recorded(project: Project, directory: Path, out: Path, report: Report) -> Compiled | None:
    """Compile a bundle again from the record in its bundle.json."""
    manifest = load_manifest(directory, report)
    if manifest is None:
        if not report.failed:
            report.error(
                "SPK605",
                f"{directory.name} has no bundle.json: a compile was interrupted, or somebody removed it",
                hint="restore it from git, or compile its recipe again",
            )
        return None
    recipe = _recorded_recipe(project, manifest, directory, report)
    if recipe is None:
        return None
    try:
        overrides = Overrides.from_record(manifest.overrides)
    except ValueError as error:
        report.error("SPK709", f"{directory.name}/{MANIFEST}: overrides.{error}", hint="restore bundle.json from git")
        return None
    return compile_recipe(project, recipe, _recorded_inventory(project, manifest), overrides, out, report)


def bundle_directories(out: Path, names: Sequence[str]) -> list[Path]:
    """Return the folders of the named bundles (a path, or a name under out/), or of all bundles.

    A first compile that was interrupted left a folder without bundle.json: it is a bundle too, an unfinished one.

    Raises:
        SparkcError: a name is no bundle.
    """
    if not names:
        return sorted(path for path in out.iterdir() if _is_bundle(path)) if out.is_dir() else []
    found = []
    for name in names:
        folder = next((path for path in (out / name, Path(name)) if _is_bundle(path)), None)
        if folder is None:
            raise SparkcError(
                f"{name!r} is not a bundle: there is no {out / name / MANIFEST}",
                hint="`sparkc compile RECIPE` makes one",
            )
        found.append(folder)
    return found


def _is_bundle(folder: Path) -> bool:
    kept = (folder / MANIFEST, folder / JOURNAL)
    return any(path.is_file() for path in kept) or any(folder.glob("rank-*/compose.yaml"))


def _recorded_recipe(project: Project, manifest: Manifest, directory: Path, report: Report) -> RecipeFile | None:
    path = manifest.recipe.get("path")
    if path is None:
        name = manifest.recipe.get("name", "a recipe")
        report.error(
            "SPK701",
            f"{directory.name} was compiled from {name}, which lies outside the project",
            hint="copy the recipe into the project's recipes/ and compile it from there with --force",
        )
        return None
    if not path.startswith(CATALOGUE) and not (project.root / path).is_file():
        report.error(
            "SPK702",
            f"{directory.name} was compiled from {path}, which does not exist any more",
            hint=f"restore it, or remove {directory.name}",
        )
        return None
    return find_recipe(project, path if path.startswith(CATALOGUE) else str(project.root / path))


def _recorded_inventory(project: Project, manifest: Manifest) -> InventoryFile:
    path = manifest.inventory.get("path")
    if path is None:
        return InventoryFile(None, None)
    own = project.inventory is not None and path == project.inventory.name
    return InventoryFile(project.root / path, path, chosen=not own)


def _warn_outside(project: Project, recipe: RecipeFile, report: Report) -> None:
    from shlex import join  # only for this hint

    recipes = project.root / "recipes"
    make = "" if recipes.is_dir() else f"{join(['mkdir', '-p', shown(recipes)])} && "
    report.warning(
        "SPK707",
        f"{recipe.name} lies outside the project: `sparkc compile --check` cannot compile its bundle again",
        hint=f"{make}{join(['cp', str(recipe.path), f'{shown(recipes)}/'])}, then compile it from there with --force",
    )


def manifest_place(directory: Path) -> dict[str, Path]:
    """Return where the file is that stands for a bundle in diagnostics, by the name that it has there."""
    return {f"{directory.name}/{MANIFEST}": directory / MANIFEST}


def _compile_again(project: Project, directories: Sequence[Path], how: Writing) -> int:
    """Compile bundles as recorded. One that fails leaves the others alone; what there is to say comes together."""
    failed = False
    everything = Report()
    places: dict[str, Path] = {}
    for directory in directories:
        report = Report()
        compiled = result = None
        try:
            compiled = compile_recorded(project, directory, how.out, report)
            result = None if compiled is None else _write(compiled, report, how)
        except SparkcError as error:
            report.add(from_error(error))
        for diagnostic in report.diagnostics:
            everything.add(diagnostic)
        places.update(manifest_place(directory))
        failed |= result is None
        if compiled is not None and result is not None and how.format_ == "text":
            _summarise(compiled, result)
    print_diagnostics(everything.diagnostics, how.format_, project, places)
    return int(failed)


def _write(compiled: Compiled, report: Report, how: Writing) -> WriteResult | None:
    result = write_bundle(compiled.files, compiled.directory, force=how.force, report=report)
    if result is not None and how.verify:
        verify_folders(compiled.directory)
    return result


def verify_folders(directory: Path) -> None:
    """Let docker-compose parse every compose file of a bundle; a refusal is a ``SparkcError``."""
    from sparkc.bundle.verify import verify  # subprocess, only on request

    verify(sorted(path.parent for path in directory.glob("*/compose.yaml")), directory.name)


def _summarise(compiled: Compiled, result: WriteResult) -> None:
    plan = compiled.plan
    nodes = ", ".join(rank.node.name.value for rank in plan.ranks)
    changes = f"{len(result.changed)} written, {len(result.removed)} removed, {len(result.unchanged)} unchanged"
    click.echo(f"{shown(compiled.directory)}: {plan.nnodes} rank(s) on {nodes} ({changes})")
    if result.changed or result.removed:
        click.echo(f"read {shown(compiled.directory / 'README.md')} first, then commit the folder")
