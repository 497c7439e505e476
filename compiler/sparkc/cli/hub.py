"""Names of models as recipes have them: Hub ids, and paths into a Hugging Face cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sparkc.cli.project import Project
from sparkc.patterns import pattern
from sparkc.planning.model import Plan
from sparkc.record import dataclass
from sparkc.traced import Traced

# models--org--name/snapshots/<revision>/<sub-folder>, as container paths have it
_SNAPSHOT = pattern(r"models--(?P<model>[^/]+)/snapshots/(?P<revision>[^/]+)(?:/(?P<folder>.+?))?/?$")
_HUB_ID = pattern(r"[A-Za-z0-9][\w.-]*/[\w.-]+(?:/[\w.-]+)*")


@dataclass(frozen=True)
class Place:
    """A repository, and where a path says so the revision and the folder in it ("" for its root)."""

    repository: str
    revision: str | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """The repository and the folder, as one name that no machine and no revision changes."""
        return f"{self.repository}/{self.folder}" if self.folder else self.repository


def place_of(model: str) -> Place:
    """Return what a model's name says; a name that is no path into a cache is taken for a repository."""
    match = _SNAPSHOT.search(model)
    if match is None:
        return Place(model)
    return Place(match["model"].replace("--", "/"), match["revision"], match["folder"] or "")


def loaded_model(plan: Plan) -> Traced[str] | None:
    """The model as the engine loads it when that is a place in a cache, which names a revision; else its identity."""
    path = plan.recipe.model
    if path is not None and "/snapshots/" in path.value:
        return path
    return plan.models[0] if plan.models else None


def served_names(plan: Plan) -> tuple[str, ...]:
    """Return the names under which the project may have the served model's facts, the most exact one first."""
    loaded = loaded_model(plan)
    names = ([] if loaded is None else [loaded.value]) + [model.value for model in plan.models[:1]]
    return tuple(dict.fromkeys(names))


def facts_path(project: Project, model: str) -> Path | None:
    """Return where the project keeps the facts of a Hub model; None for a path of the container."""
    name = place_of(model).name
    return project.root / "models" / f"{name.replace('/', '--')}.yaml" if _HUB_ID.fullmatch(name) else None


def facts_file(project: Project, names: Iterable[str]) -> Path | None:
    """Return the first file with facts that the project has for one of the names of a model."""
    paths = (facts_path(project, name) for name in names)
    # os.path has no error for names that no file system takes
    return next((path for path in paths if path is not None and os.path.isfile(path)), None)  # noqa: PTH113
