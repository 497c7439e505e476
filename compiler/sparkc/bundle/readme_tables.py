"""The tables of README.md: every value of a plan by name, on which ranks, and where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sparkc.bundle.quoting import word
from sparkc.patterns import pattern
from sparkc.planning.model import Mount, Plan, RankPlan, Shell
from sparkc.record import dataclass
from sparkc.traced import Origin, T, Traced

# Enough of a replaced value to recognise it.
_REPLACED_LIMIT = 40

_LIST_INDEX = pattern(r"\[[0-9]+\]")


@dataclass(frozen=True)
class Row:
    """One line of a table: a value (None: the name says it all), the ranks that have it, where it comes from."""

    ranks: str
    name: str
    value: str | None
    origin: str


@dataclass(frozen=True)
class Table:
    """Rows that hold for every rank, rows that do not, and the reasons that several rows share, by number."""

    common: tuple[Row, ...]
    differing: tuple[Row, ...]
    notes: tuple[tuple[int, str], ...]


# Where a value comes from: pieces of text, each with its reason or "".
Source = tuple[tuple[str, str], ...]

# A table's cells by name: the value, and where it comes from.
Cells = dict[str, tuple[str | None, Source]]


def table(by_rank: Mapping[int, Cells]) -> Table:
    """Sort values into those that all ranks share and those that differ, keeping the order of the first rank."""
    rows: list[tuple[str, list[str], str | None, Source]] = []
    for name in dict.fromkeys(name for cells in by_rank.values() for name in cells):
        holders: dict[tuple[str | None, Source], list[str]] = {}
        for rank, cells in by_rank.items():
            if name in cells:
                holders.setdefault(cells[name], []).append(str(rank))
        rows += ((name, ranks, value, source) for (value, source), ranks in holders.items())
    notes = _shared_reasons(source for _, _, _, source in rows)
    common: list[Row] = []
    differing: list[Row] = []
    for name, ranks, value, source in rows:
        row = Row(", ".join(ranks), name, value, in_words(source, notes))
        (common if len(ranks) == len(by_rank) else differing).append(row)
    return Table(tuple(common), tuple(differing), tuple((number, reason) for reason, number in notes.items()))


def _shared_reasons(sources: Iterable[Source]) -> dict[str, int]:
    counts = Counter(reason for source in sources for reason in {reason for _, reason in source if reason})
    shared = (reason for reason, count in counts.items() if count > 1)
    return {reason: number for number, reason in enumerate(shared, start=1)}


def in_words(source: Source, notes: Mapping[str, int]) -> str:
    """Return where a value comes from, with its reasons, or the numbers of those that stand in ``notes``."""
    return "".join(
        f"{text}, note {notes[reason]}" if reason in notes else f"{text} ({reason})" if reason else text
        for text, reason in source
    )


def source_of(plan: Plan, traced: Traced[T]) -> Source:
    """Return where a value comes from, and what it replaced.

    Nothing in it carries a line number, or a path of this machine.
    """
    source = _piece(plan, traced.origin)
    before = traced.overrode
    if before is None:
        return (source,)
    replaced = str(before.value)
    shown = replaced if len(replaced) <= _REPLACED_LIMIT else f"{replaced[:_REPLACED_LIMIT]}…"
    text, reason = _piece(plan, before.origin)
    return (source, (f", instead of {shown or 'an empty value'} from {text}", reason))


def _piece(plan: Plan, origin: Origin) -> tuple[str, str]:
    if origin.span is None:
        return origin.text, origin.reason
    name = origin.span.source.name
    # The place in a list moves with what is inserted above it, like a line number.
    key = _LIST_INDEX.sub("", origin.text.removeprefix(f"{name}: "))
    if name == plan.recipe.source.name:
        return f"recipe: {key}", ""
    if name == plan.inventory.source.name:
        return f"inventory: {key}", ""
    # A file outside the project has a path of this machine.
    return f"{name.rpartition('/')[2]}: {key}", ""


def traced_cells(plan: Plan, values: Mapping[str, Traced[str]]) -> Cells:
    """Return values as they are."""
    return {name: (value.value, source_of(plan, value)) for name, value in values.items()}


def command_cells(plan: Plan, rank: RankPlan) -> Cells:
    """Return the command by flag, each with its values; launch.sh has the exact words."""
    process = rank.process
    if isinstance(process, Shell):
        return {f"{process.interpreter} script.sh": (None, source_of(plan, process.text))}
    groups: list[list[Traced[str]]] = []
    for argument in process.argv:
        if not groups or argument.value.startswith("-"):
            groups.append([])
        groups[-1].append(argument)
    cells: Cells = {}
    for group in groups:
        flag, *values = (word(argument.value) for argument in group)
        name, repeat = str(flag), 2
        while name in cells:
            name, repeat = f"{flag} ({repeat})", repeat + 1
        cells[name] = (" ".join(values) or None, _joined(source_of(plan, argument) for argument in group))
    return cells


def _joined(sources: Iterable[Source]) -> Source:
    """Return each of the sources once, one after the other."""
    first, *others = dict.fromkeys(sources)
    joined = list(first)
    for (text, reason), *rest in others:
        joined += [(f"; {text}", reason), *rest]
    return tuple(joined)


def container_cells(plan: Plan, rank: RankPlan) -> Cells:
    """Return the settings of the container by name."""
    container = rank.container
    cells: Cells = {}

    def add(name: str, setting: Traced[T] | None, shown: str | None) -> None:
        if setting is not None:
            cells[name] = (shown, source_of(plan, setting))

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


def mount_cells(plan: Plan, rank: RankPlan) -> Cells:
    """Return the folders of the node by their place in the container."""
    return {_mount_name(mount): (mount.source.value, source_of(plan, mount.source)) for mount in rank.mounts}


def _mount_name(mount: Mount) -> str:
    return f"{mount.target.value} (read-only)" if mount.read_only else mount.target.value
