"""What ``sparkc status`` prints: per bundle a line, a table of its ranks, and what is wrong; or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sparkc.bundle.manifest import Manifest
from sparkc.cli.findings_output import table_lines
from sparkc.diagnostics.escape import printable, printable_lines
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.actions import age
from sparkc.runner.findings import gib
from sparkc.runner.lock import describe
from sparkc.runner.status import BundleStatus, Row

_COLUMNS = ("RANK", "NODE", "STATE", "AGE", "HEALTH", "RESTARTS", "MEMORY FREE", "RELEASE", "IMAGE")


@dataclass(frozen=True)
class Shown:
    """One bundle as it is shown.

    ``compiled`` is its folder's bundle.json, None without a folder. ``deep`` is what one-token completions gave by
    rank: None for one that completed, a text for one that cannot be checked; empty when they were not asked for.
    """

    status: BundleStatus
    compiled: Manifest | None
    deep: Mapping[int, str | SparkcError | None]

    @property
    def well(self) -> bool:
        """Whether all ranks serve, as far as was asked."""
        return self.status.serves and not any(isinstance(outcome, SparkcError) for outcome in self.deep.values())


def lines(shown: Shown) -> Iterator[str]:
    """Yield the lines about one bundle."""
    status = shown.status
    yield f"{status.name} {_summary(shown)}"
    yield from table_lines(_COLUMNS, [_cells(row) for row in status.rows])
    for row in status.rows:
        if row.problem is not None:
            rank = "" if row.rank is None else f"rank {row.rank} "
            yield printable(f"{row.node}: {rank}{'is unknown: ' if row.state == 'unknown' else ''}{row.problem}")
    for number, outcome in shown.deep.items():
        if isinstance(outcome, SparkcError):
            yield from printable_lines(str(outcome))
        else:
            yield printable(f"rank {number}: {'completes' if outcome is None else outcome}")
    if status.lock is not None:
        yield printable(f"locked by {describe(*status.lock)}")
    if shown.compiled is not None and status.manifest is not None and _differs(shown.compiled, status):
        yield f"the bundle's folder has other files than what is deployed: sparkc plan {status.name}"


def _differs(compiled: Manifest, status: BundleStatus) -> bool:
    return status.exists and status.manifest is not None and compiled.group_digest != status.manifest.group_digest


def _summary(shown: Shown) -> str:
    status = shown.status
    if shown.well:
        url = None if status.manifest is None else status.manifest.client_url
        return "serves" if url is None else printable(f"serves at {url}")
    if status.serves:
        return "does not serve, though its health checks pass"
    if any(row.state == "unknown" for row in status.rows):
        return "cannot be judged: not all of its nodes can be seen"
    if not status.exists:
        return "does not run"
    if all(row.state == "running" and row.health in (None, "healthy", "starting") for row in status.rows):
        return "is loading" if any(row.health == "starting" for row in status.rows) else "is not as it should be"
    return "does not serve"


def _cells(row: Row) -> list[str]:
    memory = "-"
    if row.memory_available is not None and row.memory_total is not None:
        memory = f"{gib(row.memory_available)} of {gib(row.memory_total)}"
    return [
        "?" if row.rank is None else str(row.rank),
        row.node,
        row.state if row.exit_code is None else f"{row.state} ({row.exit_code})",
        "-" if row.age is None else age(row.age),
        row.health or "-",
        "-" if row.restarts is None else str(row.restarts),
        memory,
        (row.release or "-")[:12],
        row.image or "-",
    ]


def as_data(shown: Sequence[Shown], unreachable: Mapping[str, SparkcError]) -> dict[str, object]:
    """Return everything for ``--json``; ``unreachable`` are the errors by node."""
    return {
        "bundles": [_bundle(entry) for entry in shown],
        "unreachable": [{"node": node, "message": error.message} for node, error in unreachable.items()],
    }


def _bundle(shown: Shown) -> dict[str, object]:
    status, manifest = shown.status, shown.status.manifest
    return {
        "bundle": status.name,
        "serves": shown.well,
        "url": None if manifest is None else manifest.client_url,
        "group_digest": None if manifest is None else manifest.group_digest,
        "as_compiled": None if shown.compiled is None else not _differs(shown.compiled, status),
        "locked_by": None if status.lock is None else status.lock[0].who,
        "ranks": [_rank(row) for row in status.rows],
        "completions": {str(number): _outcome(outcome) for number, outcome in shown.deep.items()},
    }


def _rank(row: Row) -> dict[str, object]:
    return {name: getattr(row, name) for name in Row.__match_args__} | {"serves": row.serves}


def _outcome(outcome: str | SparkcError | None) -> dict[str, object]:
    if isinstance(outcome, SparkcError):
        return {"result": "failed", "message": outcome.message}
    return {"result": "ok" if outcome is None else "unchecked", "message": outcome}
