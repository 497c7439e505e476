"""The project on disk: its root, its inventory, and the recipes that a name can mean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sparkc import resources
from sparkc.errors import SparkcError
from sparkc.reading.source import CATALOGUE
from sparkc.record import dataclass

INVENTORY_NAMES = ("inventory.yaml", "inventory.yml", "inventory.toml")
RECIPE_SUFFIXES = (".yaml", ".yml", ".toml", ".sh")


@dataclass(frozen=True)
class Project:
    """A folder with an inventory, or the current folder when there is none upward of it."""

    root: Path
    inventory: Path | None

    @property
    def out(self) -> Path:
        """Where bundles are written."""
        return self.root / "out"


@dataclass(frozen=True)
class RecipeFile:
    """A recipe's file. ``name`` is the same for everyone: relative to the project, or in our catalogue.

    ``outside``: the file lies outside the project, so its name alone does not lead to it.
    """

    path: Path
    name: str
    outside: bool = False


def find_project(start: Path) -> Project:
    """Return the nearest folder upward from ``start`` that has an inventory, else ``start`` itself.

    Raises:
        SparkcError: a folder has more than one inventory.
    """
    for folder in (start, *start.parents):
        found = [folder / name for name in INVENTORY_NAMES if (folder / name).is_file()]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise SparkcError(
                f"{folder} has {names}: which is the inventory?", hint="remove one, or name it with --inventory"
            )
        if found:
            return Project(folder, found[0])
    return Project(start, None)


def find_recipe(project: Project, argument: str) -> RecipeFile:
    """Return the recipe that ``argument`` means: a path, else a name under the project's recipes/, else ours.

    A name matches a file's path below ``recipes/`` from its end, whole folder names only, with or without the
    suffix. It never falls back to another file that happens to have the same base name.

    Raises:
        SparkcError: nothing matches, or several do; the message lists near names or the matches.
    """
    if not argument.startswith(CATALOGUE):
        path = Path(argument)
        if path.is_file():
            return _by_path(project, path)
        own = list(_matches(project.root / "recipes", argument))
        if own:
            return _by_path(project, _single(own, project.root / "recipes", argument))
    name = argument.removeprefix(CATALOGUE)
    ours = resources.folder("recipes")
    found = list(_matches(ours, name))
    if not found:
        raise SparkcError(f"there is no file and no recipe {argument!r}", hint=_near(project, name))
    path = _single(found, ours, name)
    return _catalogue_file(project, path)


def all_recipes(project: Project) -> Iterator[RecipeFile]:
    """Yield the project's recipes, then ours that no project recipe of the same name hides."""
    seen = set()
    for path in _files(project.root / "recipes"):
        seen.add(_stem(path.relative_to(project.root / "recipes").as_posix()))
        yield _by_path(project, path)
    ours = resources.folder("recipes")
    for path in _files(ours):
        if _stem(path.relative_to(ours).as_posix()) not in seen:
            yield _catalogue_file(project, path)


def recipe_name(file: RecipeFile) -> str:
    """Return the name that finds ``file`` again: its path below recipes/ without the suffix."""
    return _stem(file.name.removeprefix(CATALOGUE).removeprefix("recipes/"))


def _by_path(project: Project, path: Path) -> RecipeFile:
    full = path.resolve()
    root = project.root.resolve()
    if full.is_relative_to(root):
        return RecipeFile(path, full.relative_to(root).as_posix())
    return RecipeFile(path, full.name, outside=True)


def _catalogue_file(project: Project, path: Path) -> RecipeFile:
    """A checkout of sparkc is a project whose recipes are the catalogue: there they have ordinary paths."""
    if path.resolve().is_relative_to(project.root.resolve() / "recipes"):
        return _by_path(project, path)
    return RecipeFile(path, CATALOGUE + path.relative_to(resources.folder("recipes")).as_posix())


def _files(folder: Path) -> Iterator[Path]:
    """Yield every file below ``folder`` that ends like a recipe, sorted."""
    if folder.is_dir():
        found = (path for path in folder.rglob("*") if path.suffix in RECIPE_SUFFIXES and path.is_file())
        yield from (path for path in sorted(found) if is_text(path))


def is_text(path: Path) -> bool:
    """False for a name that is not UTF-8: no bundle could record it."""
    return not any("\ud800" <= character <= "\udfff" for character in str(path))


def _stem(text: str) -> str:
    suffix = next((suffix for suffix in RECIPE_SUFFIXES if text.endswith(suffix)), "")
    return text.removesuffix(suffix)


def _matches(folder: Path, name: str) -> Iterator[Path]:
    wanted = name.split("/")
    if "" in wanted or "." in wanted or ".." in wanted:
        return
    for path in _files(folder):
        relative = path.relative_to(folder).as_posix()
        for candidate in (relative, _stem(relative)):
            if candidate.split("/")[-len(wanted) :] == wanted:
                yield path
                break


def _single(found: list[Path], folder: Path, name: str) -> Path:
    exact = [path for path in found if name in ((relative := path.relative_to(folder).as_posix()), _stem(relative))]
    if len(exact) == 1:
        return exact[0]
    if len(found) > 1:
        listed = ", ".join(path.relative_to(folder).as_posix() for path in found)
        raise SparkcError(
            f"{name!r} means several recipes: {listed}", hint="name one of them with its folder and suffix"
        )
    return found[0]


def _near(project: Project, name: str) -> str:
    from sparkc.diagnostics.suggest import closest  # only on the way to an error message

    names = [recipe_name(file) for file in all_recipes(project)]
    best = closest(name, names) or closest(name.rpartition("/")[2], [known.rpartition("/")[2] for known in names])
    return (
        f"did you mean {best!r}?" if best is not None else "`sparkc list` shows the recipes; a path to a file works too"
    )
