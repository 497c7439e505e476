"""What README.md says: the facts of a plan in the order in which a reviewer asks for them.

Nothing here carries a line number, a time or a path of this machine: an edit above a value, or a checkout
elsewhere, must not show up as a change of the bundle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sparkc.bundle.manifest import waves
from sparkc.bundle.quoting import word
from sparkc.diagnostics.model import Severity
from sparkc.patterns import pattern
from sparkc.planning.model import Mod, Mount, Plan, RankPlan, Shell
from sparkc.record import dataclass
from sparkc.traced import Origin, T, Traced

# Enough of a replaced value to recognise it.
_REPLACED_LIMIT = 40

_LIST_INDEX = pattern(r"\[[0-9]+\]")
_PORT_SUFFIX = pattern(r"(?P<host>.*[^:]|\[.*\]):(?P<port>[0-9]+)")


@dataclass(frozen=True)
class Row:
    """One line of a table: a value (None: the name says it all), the ranks that have it, where it comes from."""

    ranks: str
    name: str
    value: str | None
    origin: str


@dataclass(frozen=True)
class Table:
    """Rows that hold for every rank, and rows that do not."""

    common: tuple[Row, ...]
    differing: tuple[Row, ...]


@dataclass(frozen=True)
class Target:
    """How to reach a node by hand: what ssh and rsync call it, and its port if it is not the usual one."""

    name: str
    port: int | None


# A table's cells by name: the value, and where it comes from.
_Cells = dict[str, tuple[str | None, str]]


def readme_context(plan: Plan, folders: Mapping[int, str], mods: Sequence[tuple[Mod, str]]) -> dict[str, object]:
    """Return the variables of README.md.j2. ``mods`` pairs each mod with its folder, "" where it does not run."""
    groups = waves(plan.ranks)
    return {
        "plan": plan,
        "recipe_name": plan.recipe_path if plan.recipe_sha256 is None else plan.recipe_path.rpartition("/")[2],
        "folders": folders,
        "starts": {number: position for position, group in enumerate(groups, start=1) for number in group},
        "image_rows": _table({r.rank: _traced(plan, {"image": r.container.image}) for r in plan.ranks}),
        "pinned": all("@sha256:" in rank.container.image.value for rank in plan.ranks),
        "models": list(_models(plan)),
        "ports": _ports(plan.ranks),
        "parameters": _table({rank.rank: _traced(plan, plan.parameters) for rank in plan.ranks}).common,
        "command": _table({rank.rank: _command(plan, rank) for rank in plan.ranks}),
        "environment": _table({rank.rank: _traced(plan, rank.environment) for rank in plan.ranks}),
        "container": _table({rank.rank: _container(plan, rank) for rank in plan.ranks}),
        "mounts": _table({rank.rank: _mounts(plan, rank) for rank in plan.ranks}),
        "mods": [(mod, folder, _origin(plan, mod.reference)) for mod, folder in mods],
        "directories": _directories(plan.ranks),
        "findings": [d for d in plan.diagnostics if d.severity is not Severity.ERROR],
        "by_hand": [(rank, folders[rank.rank], _target(rank)) for group in groups for rank in _of(plan, group)],
    }


def _models(plan: Plan) -> Iterable[tuple[str, str | None, str]]:
    """Yield name, revision and origin of each model; the recipe pins the first one's revision only."""
    for position, model in enumerate(plan.models):
        revision = plan.revision if position == 0 else None
        yield model.value, revision.value if revision is not None else None, _origin(plan, model)


def _of(plan: Plan, numbers: Iterable[int]) -> list[RankPlan]:
    return [rank for rank in plan.ranks if rank.rank in numbers]


def _origin(plan: Plan, traced: Traced[T]) -> str:
    """Return where a value comes from, and what it replaced."""
    text = _origin_text(plan, traced.origin)
    before = traced.overrode
    if before is None:
        return text
    replaced = str(before.value)
    shown = replaced if len(replaced) <= _REPLACED_LIMIT else f"{replaced[:_REPLACED_LIMIT]}…"
    return f"{text}, instead of {shown or 'an empty value'} from {_origin_text(plan, before.origin)}"


def _origin_text(plan: Plan, origin: Origin) -> str:
    if origin.span is None:
        return str(origin)
    name = origin.span.source.name
    # The place in a list moves with what is inserted above it, like a line number.
    key = _LIST_INDEX.sub("", origin.text.removeprefix(f"{name}: "))
    if name == plan.recipe.source.name:
        return f"recipe: {key}"
    if name == plan.inventory.source.name:
        return f"inventory: {key}"
    # A file outside the project has a path of this machine.
    return f"{name.rpartition('/')[2]}: {key}"


def _traced(plan: Plan, values: Mapping[str, Traced[str]]) -> _Cells:
    return {name: (value.value, _origin(plan, value)) for name, value in values.items()}


def _table(by_rank: Mapping[int, _Cells]) -> Table:
    """Sort values into those that all ranks share and those that differ, keeping the order of the first rank."""
    common: list[Row] = []
    differing: list[Row] = []
    for name in dict.fromkeys(name for cells in by_rank.values() for name in cells):
        holders: dict[tuple[str | None, str], list[str]] = {}
        for rank, cells in by_rank.items():
            if name in cells:
                holders.setdefault(cells[name], []).append(str(rank))
        for (value, origin), ranks in holders.items():
            rows = common if len(ranks) == len(by_rank) else differing
            rows.append(Row(", ".join(ranks), name, value, origin))
    return Table(tuple(common), tuple(differing))


def _command(plan: Plan, rank: RankPlan) -> _Cells:
    """Return the command by flag, each with its values; launch.sh has the exact words."""
    process = rank.process
    if isinstance(process, Shell):
        return {f"{process.interpreter} script.sh": (None, _origin(plan, process.text))}
    groups: list[list[Traced[str]]] = []
    for argument in process.argv:
        if not groups or argument.value.startswith("-"):
            groups.append([])
        groups[-1].append(argument)
    cells: _Cells = {}
    for group in groups:
        flag, *values = (word(argument.value) for argument in group)
        name, repeat = str(flag), 2
        while name in cells:
            name, repeat = f"{flag} ({repeat})", repeat + 1
        origins = dict.fromkeys(_origin(plan, argument) for argument in group)
        cells[name] = (" ".join(values) or None, "; ".join(origins))
    return cells


def _container(plan: Plan, rank: RankPlan) -> _Cells:
    container = rank.container
    cells: _Cells = {}

    def add(name: str, setting: Traced[T] | None, shown: str | None) -> None:
        if setting is not None:
            cells[name] = (shown, _origin(plan, setting))

    add("network", container.network, container.network.value)
    add("privileged", container.privileged, "yes" if container.privileged.value else "no")
    add("host ipc", container.ipc_host, "yes" if container.ipc_host.value else "no")
    sizes = {
        "shared memory": None if container.ipc_host.value else container.shm_size,
        "memory limit": container.memory,
        "memory and swap limit": container.memory_swap,
    }
    for name, size in sizes.items():
        add(name, size, size.value if size else None)
    add("process limit", container.pids, str(container.pids.value) if container.pids else None)
    for name, limit in container.ulimits.items():
        add(f"ulimit {name}", limit, str(limit.value))
    lists = {
        "device": container.devices,
        "capability": container.cap_add,
        "security option": container.security_opt,
        "published port": container.publish,
    }
    for name, items in lists.items():
        for item in items:
            add(f"{name} {item.value}", item, None)
    if container.keep_entrypoint.value:
        add("the image's entrypoint", container.keep_entrypoint, "kept")
    add("stop grace", container.stop_grace, f"{container.stop_grace.value}s")
    return cells


def _mounts(plan: Plan, rank: RankPlan) -> _Cells:
    return {_mount_name(mount): (mount.source.value, _origin(plan, mount.source)) for mount in rank.mounts}


def _mount_name(mount: Mount) -> str:
    return f"{mount.target.value} (read-only)" if mount.read_only else mount.target.value


def _ports(ranks: Sequence[RankPlan]) -> list[tuple[int, str, str]]:
    """Return number, name and ranks of every port that is listened on."""
    found: dict[tuple[int, str], list[str]] = {}
    for rank in ranks:
        for port in rank.ports:
            found.setdefault((port.number, port.name), []).append(str(rank.rank))
    return [(number, name, ", ".join(holders)) for (number, name), holders in sorted(found.items())]


def _directories(ranks: Sequence[RankPlan]) -> list[tuple[str, list[str], list[str]]]:
    """Return (node names, sources to make, sources that must exist) for each distinct set of mounts."""
    groups: dict[tuple[tuple[str, bool], ...], list[str]] = {}
    for rank in ranks:
        key = tuple(sorted({(mount.source.value, mount.create) for mount in rank.mounts}))
        groups.setdefault(key, []).append(rank.node.name.value)
    return [
        (", ".join(nodes), [s for s, create in key if create], [s for s, create in key if not create])
        for key, nodes in groups.items()
        if key
    ]


def _target(rank: RankPlan) -> Target:
    ssh = rank.node.ssh.value
    match = _PORT_SUFFIX.fullmatch(ssh)
    # More than one colon without brackets is a bare IPv6 address, not a port.
    suffixed = match is not None and (ssh.count(":") == 1 or "]" in ssh)
    host, port = (match["host"], int(match["port"])) if match is not None and suffixed else (ssh, None)
    return Target(host if "@" in host else f"{rank.node.user.value}@{host}", port)
