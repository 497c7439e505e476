"""What README.md says: the facts of a plan in the order in which a reviewer asks for them.

Nothing here carries a line number, a time or a path of this machine: an edit above a value, or a checkout
elsewhere, must not show up as a change of the bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkc.bundle.manifest import waves
from sparkc.bundle.quoting import word
from sparkc.bundle.readme_deploy import local_image, preparations, target_of
from sparkc.bundle.readme_tables import (
    Table,
    command_cells,
    container_cells,
    in_words,
    mount_cells,
    source_of,
    table,
    traced_cells,
)
from sparkc.diagnostics.model import Severity
from sparkc.planning.model import Mod, Plan, RankPlan
from sparkc.planning.overrides import Overrides
from sparkc.traced import T, Traced


def readme_context(plan: Plan, folders: Mapping[int, str], mods: Sequence[tuple[Mod, str]]) -> dict[str, object]:
    """Return the variables of README.md.j2. ``mods`` pairs each mod with its folder, "" where it does not run."""
    groups = waves(plan.ranks)
    return {
        "plan": plan,
        "recipe_name": _recipe_name(plan),
        "folders": folders,
        "starts": {number: position for position, group in enumerate(groups, start=1) for number in group},
        "image_rows": table({r.rank: traced_cells(plan, {"image": r.container.image}) for r in plan.ranks}),
        "pinned": all("@sha256:" in rank.container.image.value for rank in plan.ranks),
        "models": list(_models(plan)),
        "memory": _memory(plan),
        "ports": _ports(plan.ranks),
        "tables": _tables(plan),
        "mods": [(mod, folder, _origin(plan, mod.reference)) for mod, folder in mods],
        "solo": plan.ranks[0].role == "solo",
        "links": [(title, _full_url(plan, link)) for title, link in plan.recipe.links.items()],
        "preparations": preparations(plan),
        "local_images": list(dict.fromkeys(r.container.image.value for r in plan.ranks if local_image(r))),
        "findings": [d for d in plan.diagnostics if d.severity is not Severity.ERROR],
        "by_hand": [(rank, folders[rank.rank], target_of(rank)) for group in groups for rank in _of(plan, group)],
    }


def _tables(plan: Plan) -> list[tuple[str, Table]]:
    """Return the tables under their titles; the parameters are those of all ranks."""
    return [
        ("Parameters", table({plan.ranks[0].rank: traced_cells(plan, plan.parameters)})),
        ("Command", table({rank.rank: command_cells(plan, rank) for rank in plan.ranks})),
        ("Environment", table({rank.rank: traced_cells(plan, rank.environment) for rank in plan.ranks})),
        ("Container", table({rank.rank: container_cells(plan, rank) for rank in plan.ranks})),
        ("Mounts", table({rank.rank: mount_cells(plan, rank) for rank in plan.ranks})),
    ]


def _full_url(plan: Plan, link: str) -> str:
    """Return a recipe's link with the server's address before it, where it is a path of the server."""
    base = plan.endpoints[0].url if plan.endpoints else ""
    return f"{base}{link}" if link.startswith("/") else link


def _origin(plan: Plan, traced: Traced[T]) -> str:
    return in_words(source_of(plan, traced), {})


def _models(plan: Plan) -> Iterable[tuple[str, str | None, str]]:
    """Yield name, revision and origin of each model; the recipe pins the first one's revision only."""
    for position, model in enumerate(plan.models):
        revision = plan.revision if position == 0 else None
        yield model.value, revision.value if revision is not None else None, _origin(plan, model)


def _memory(plan: Plan) -> tuple[str, str] | None:
    """Return in words what the sum of the memory says, and the command that shows the sum."""
    memory = plan.memory
    if memory is None:
        return None
    weights = f"{memory.weights / (1 << 30):.2f} GiB of weights{' on the tightest rank' if plan.nnodes > 1 else ''}"
    sequences = memory.tokens / memory.length if memory.length else 0.0
    cache = f"a KV cache for {memory.tokens:,} tokens, {sequences:.2f} sequences of {memory.length:,}"
    estimated = f"; estimated: {', '.join(memory.estimated)}" if memory.estimated else ""
    named = plan.inventory_path is not None and not plan.inventory_path.startswith("inventory.")
    options = ("--inventory", plan.inventory_path or "") if named else ()
    given = Overrides.from_record(plan.overrides).options()
    words = ("sparkc", "fit", _recipe_name(plan), *options, *given)
    return f"{weights}, {cache}{estimated}", " ".join(word(text) for text in words)


def _recipe_name(plan: Plan) -> str:
    return plan.recipe_path if plan.recipe_sha256 is None else plan.recipe_path.rpartition("/")[2]


def _of(plan: Plan, numbers: Iterable[int]) -> list[RankPlan]:
    return [rank for rank in plan.ranks if rank.rank in numbers]


def _ports(ranks: Sequence[RankPlan]) -> list[tuple[int, str, str]]:
    """Return number, name and ranks of every port that is listened on."""
    found: dict[tuple[int, str], list[str]] = {}
    for rank in ranks:
        for port in rank.ports:
            found.setdefault((port.number, port.name), []).append(str(rank.rank))
    return [(number, name, ", ".join(holders)) for (number, name), holders in sorted(found.items())]
