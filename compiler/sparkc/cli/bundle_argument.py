"""The BUNDLE argument of the runner's commands, and the nodes of commands that can do without a bundle's folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sparkc.cli.inputs import inventory_file, load_inventory
from sparkc.cli.output import print_diagnostics
from sparkc.cli.project import find_project
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.planning.overrides import Overrides
from sparkc.runner.bundle_folder import Bundle, bundle_names, find_folder, load_bundle
from sparkc.runner.preflight import Environments, read_environment
from sparkc.runner.survey import start_of
from sparkc.runner.target import Target, make_target

if TYPE_CHECKING:
    from sparkc.inventory.model import Inventory

F = TypeVar("F", bound=Callable[..., Any])

# As the schema of bundle.json has it; nothing else becomes part of a path on a node.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]+")


def bundle_argument(*, required: bool, many: bool = False) -> Callable[[F], F]:
    """Add BUNDLE: a bundle's folder, or its name under out/; with ``many`` any number of them."""
    return click.argument(
        "bundles" if many else "bundle",
        metavar="BUNDLE..." if many else "BUNDLE",
        required=required,
        nargs=-1 if many else 1,
        shell_complete=_complete,
    )


def open_bundle(argument: str) -> Bundle:
    """Return the bundle that the argument means.

    Raises:
        SparkcError: there is none, or its bundle.json cannot be used.
    """
    return load_bundle(find_project(Path.cwd()).out, argument)


def has_folder(argument: str) -> bool:
    """Return whether the argument means a bundle's folder here, not only a name."""
    return find_folder(find_project(Path.cwd()).out, argument) is not None


def nodes_of(argument: str, inventory: str | None) -> tuple[str, dict[Target, str]]:
    """Return the bundle's name and the nodes to look for it, with the homes of their login users.

    They are those of the bundle's folder; without a folder, or with ``inventory``, those of the inventory.

    Raises:
        SparkcError: there is neither a folder nor an inventory, or one of them cannot be used.
    """
    known = has_folder(argument)
    if known and inventory is None:
        manifest = open_bundle(argument).manifest
        return manifest.name, start_of(manifest)
    name = open_bundle(argument).manifest.name if known else argument
    if not _NAME.fullmatch(name) or (inventory is None and find_project(Path.cwd()).inventory is None):
        open_bundle(argument)  # says what there is instead
    return name, inventory_nodes(inventory)


def inventory_nodes(given: str | None) -> dict[Target, str]:
    """Return all nodes of :func:`open_inventory`, with the homes of their login users.

    Raises:
        SparkcError: there is no inventory, or it has errors, which are printed.
    """
    nodes = open_inventory(given).nodes
    return {make_target(node.name.value, node.ssh.value, node.user.value): node.home.value for node in nodes}


def environments_of(bundle: Bundle) -> Environments:
    """Return the variables of every rank's rank.env, as far as the files are there."""
    files = {rank.rank: bundle.folder / rank.folder / "rank.env" for rank in bundle.manifest.ranks}
    return {
        rank: read_environment(file.read_text("utf-8", errors="replace"))
        for rank, file in files.items()
        if file.is_file()
    }


def open_inventory(given: str | None) -> Inventory:
    """Return the inventory of ``--inventory``, else the project's.

    Raises:
        SparkcError: there is none, or it has errors, which are printed.
    """
    project = find_project(Path.cwd())
    file = inventory_file(project, given)
    if file.path is None:
        raise SparkcError("there is no inventory.yaml, so there are no nodes to look at", hint="sparkc init")
    report = Report()
    found = load_inventory(file, Overrides(), report)
    print_diagnostics(report.diagnostics, "text", project)
    if found is None or report.failed:
        raise SparkcError(f"{file.name} cannot be used", hint=f"sparkc check {file.path}")
    return found


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> Sequence[str]:  # noqa: ARG001
    return [name for name in bundle_names(find_project(Path.cwd()).out) if name.startswith(incomplete)]
