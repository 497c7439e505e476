"""From what the user named to what planning takes: recipe, inventory, mods and overrides, read from disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sparkc.cli.project import Project, RecipeFile
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.inventory.model import Inventory
from sparkc.planning.group import Inputs
from sparkc.planning.model import Mod, Plan
from sparkc.planning.overrides import Overrides
from sparkc.planning.plan import make_plan
from sparkc.reading.read import decode, read_document
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Recipe
from sparkc.record import dataclass
from sparkc.traced import Traced, from_flag


@dataclass(frozen=True)
class InventoryFile:
    """The inventory to use. ``path`` None means the built-in example, or nodes given as addresses."""

    path: Path | None
    name: str | None
    chosen: bool = False


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, at most a little over the readers' limit.

    Raises:
        SparkcError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(5 * 1024 * 1024)
    except OSError as error:
        raise SparkcError(f"cannot read {path}: {error.strerror}", hint="check the path and its permissions") from error


def load_recipe(file: RecipeFile, report: Report) -> tuple[Recipe | None, str]:
    """Return the recipe and the SHA-256 of its file, followed by the files beside it that it includes."""
    data = read_bytes(file.path)
    digest = hashlib.sha256(data)

    def read_sibling(name: str) -> bytes | None:
        path = file.path.parent / name
        if not path.is_file():
            return None
        included = read_bytes(path)
        digest.update(included)
        return included

    recipe = read_recipe_file(file.name, data, report, read_sibling)
    return recipe, digest.hexdigest()


def inventory_file(project: Project, given: str | None) -> InventoryFile:
    """Return the inventory that ``--inventory`` names, else the project's, else none."""
    if given is None:
        path = project.inventory
        return InventoryFile(path, None if path is None else path.name)
    path = Path(given)
    full, root = path.resolve(), project.root.resolve()
    name = full.relative_to(root).as_posix() if full.is_relative_to(root) else path.name
    return InventoryFile(path, name, chosen=True)


def is_env_file(path: Path) -> bool:
    """True for the inventory file of spark-vllm-docker."""
    return path.name.endswith(".env")


def load_inventory(file: InventoryFile, overrides: Overrides, report: Report) -> Inventory | None:
    """Return the inventory, or None after an error."""
    addresses = _addresses(overrides)
    if file.path is None and addresses:
        from sparkc.inventory.adhoc import adhoc_inventory  # rare

        hcas = [hca.strip() for hca in (overrides.ib_if or "").split(",") if hca.strip()]
        return adhoc_inventory(addresses, overrides.user, overrides.eth_if, hcas, report)
    env_file = file.path is not None and is_env_file(file.path)
    for flag, value in (("--user", overrides.user), ("--eth-if", overrides.eth_if), ("--ib-if", overrides.ib_if)):
        if value is not None and not (env_file and flag == "--user"):
            report.error(
                "SPK703",
                f"{flag} is for nodes given as addresses; here the inventory says it",
                hint=f"drop {flag}, or give --nodes 10.0.0.1,10.0.0.2 without an inventory",
            )
    if file.path is None:
        from sparkc.inventory.example import example_inventory  # not needed in a project

        return example_inventory()
    if env_file:
        from sparkc.inventory.env_file import read_env_file  # rare

        source = decode(file.name or file.path.name, read_bytes(file.path), report)
        return None if source is None else read_env_file(source, overrides.user, report)
    from sparkc.inventory.load import read_inventory  # not needed without a project

    document = read_document(file.name or file.path.name, read_bytes(file.path), report)
    return None if document is None else read_inventory(document, report)


def _addresses(overrides: Overrides) -> list[str]:
    """Return the items of ``--nodes`` when they are addresses rather than a count or names."""
    items = [item.strip() for item in (overrides.nodes or "").split(",")]
    return items if all(":" in item or ("." in item and item.replace(".", "").isdecimal()) for item in items) else []


def load_inputs(
    project: Project, recipe_file: RecipeFile, inventory: InventoryFile, overrides: Overrides, report: Report
) -> Inputs | None:
    """Read everything that one compile needs; None when recipe or inventory cannot be used.

    Other faults, such as a missing mod, are errors in ``report`` beside a result, so that planning finds its own too.
    """
    recipe, digest = load_recipe(recipe_file, report)
    nodes = load_inventory(inventory, overrides, report)
    if recipe is None:
        return None
    if recipe.derived_from:
        from sparkc.cli.original import compare_with_original  # few recipes name one

        compare_with_original(project, recipe_file, recipe, report)
    mods = _mods(project, recipe_file, recipe, overrides, report)
    if nodes is None:
        return None
    if nodes.kind == "example":
        report.note(
            "SPK704",
            "there is no inventory.yaml: compiled for the built-in example of eight Sparks, which cannot be deployed",
            hint="`sparkc init` starts a project with an inventory of your own nodes",
        )
    return Inputs(
        recipe=recipe,
        inventory=nodes,
        overrides=overrides,
        mods=mods,
        recipe_path=recipe_file.name,
        recipe_sha256=digest if recipe_file.outside else None,
        inventory_path=inventory.name,
        chosen_inventory=inventory.chosen,
    )


def plan_of(project: Project, inputs: Inputs, report: Report) -> Plan | None:
    """Return the plan, with the sum of its memory where the project has facts about its model; None after an error."""
    plan = make_plan(inputs, report)
    if plan is None or not plan.models or not (project.root / "models").is_dir():
        return plan
    from sparkc.cli.hub import facts_file, served_names  # few projects have such a folder

    if facts_file(project, served_names(plan)) is None:
        return plan
    from sparkc.cli.known_models import summed_up  # the formulas

    plan = summed_up(project, plan, report)
    return None if report.failed else plan


def _mods(
    project: Project, recipe_file: RecipeFile, recipe: Recipe, overrides: Overrides, report: Report
) -> tuple[Mod, ...]:
    references = (*recipe.mods, *(Traced(mod, from_flag(f"--mod {mod}")) for mod in overrides.mods))
    if not references:
        return ()
    from sparkc.cli.mods_on_disk import load_mods  # 2 ms that recipes without mods, the most, do without

    return load_mods(
        references,
        recipe_folder=recipe_file.path.parent,
        project=project.root,
        foreign=recipe.dialect != "native",
        report=report,
    )
