"""What is found before a bundle is started: one sentence each, with what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from sparkc.bundle.manifest import RankEntry
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.facts import NodeFacts
from sparkc.runner.target import rank_target

Severity = Literal["error", "warning", "note"]
# The ranks that could be looked at, in their order.
Looked = Sequence[tuple[RankEntry, NodeFacts]]
GIB = 1 << 30


@dataclass(frozen=True)
class Finding:
    """One finding. ``node`` is None for what concerns several nodes; ``details`` are lines of a table below it."""

    severity: Severity
    node: str | None
    what: str
    hint: str | None = None
    details: tuple[str, ...] = ()


def from_failure(error: SparkcError) -> Finding:
    """Return the finding for a node that could not be looked at."""
    return Finding("error", error.host, error.message, error.hint, tuple((error.output or "").splitlines()))


def in_order(findings: Iterable[Finding], ranks: Sequence[RankEntry]) -> list[Finding]:
    """Return the findings by rank, those of several nodes last."""
    position = {rank.node: rank.rank for rank in ranks}
    return sorted(findings, key=lambda finding: position.get(finding.node or "", len(position)))


def on(rank: RankEntry, *words: str, terminal: bool = False) -> str:
    """Return the command that runs ``words`` on a rank's node, as it can be typed; sudo needs a ``terminal``."""
    command = shlex.join(words)
    return _typed(rank, command if command == " ".join(words) else shlex.quote(command), terminal=terminal)


def on_shell(rank: RankEntry, command: str, *, terminal: bool = False) -> str:
    """Return the command that lets the login shell of a rank's node run a whole ``command`` line."""
    return _typed(rank, shlex.quote(command), terminal=terminal)


def _typed(rank: RankEntry, quoted: str, *, terminal: bool) -> str:
    """Return the ssh command for what is ``quoted`` for the local shell already."""
    return f"ssh {'-t ' if terminal else ''}{rank_target(rank).login} {quoted}"


def table(rows: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return aligned lines, one per row, each beginning with its name."""
    cells = [[name, *row] for name, row in rows.items()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return tuple(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def gib(size: int) -> str:
    """Return a size in GiB, or in MiB where that says more."""
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / (1 << 20):.0f} MiB"
