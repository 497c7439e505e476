"""How findings about nodes are printed: a summary of the nodes as a table, then each finding with what to type next."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click

from sparkc.bundle.manifest import RankEntry
from sparkc.diagnostics.escape import printable, printable_lines
from sparkc.errors import SparkcError
from sparkc.runner.facts import NodeFacts
from sparkc.runner.findings import Finding, gib

_LAST = ("note", "warning", "error")
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}
_COLUMNS = ("RANK", "NODE", "DOCKER", "COMPOSE", "DRIVER", "MEMORY FREE", "DISK FREE", "FOUND")


def print_findings(findings: Sequence[Finding]) -> None:
    """Print findings to standard error, the errors last, where the eye falls first; what several nodes share, once."""
    colour = sys.stderr.isatty()
    groups: dict[tuple[str, str, tuple[str, ...]], list[Finding]] = {}
    for finding in sorted(findings, key=lambda finding: _LAST.index(finding.severity)):
        groups.setdefault((finding.severity, finding.what, finding.details), []).append(finding)
    for (severity, text, details), group in groups.items():
        word = click.style(severity, fg=_COLOURS[severity], bold=True) if colour else severity
        nodes = ", ".join(printable(finding.node) for finding in group if finding.node is not None)
        what, *more = printable_lines(text)
        click.echo(f"{word}: {nodes}{': ' if nodes else ''}{what}", err=True, color=colour)
        for line in (*more, *(shown for detail in details for shown in printable_lines(detail))):
            click.echo(f"    {line}", err=True)
        for hint in dict.fromkeys(finding.hint for finding in group if finding.hint):
            click.echo(f"  help: {printable(hint)}", err=True)


def as_data(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Return findings for ``--json``."""
    return [
        {
            "severity": finding.severity,
            "node": finding.node,
            "message": finding.what,
            "hint": finding.hint,
            "details": list(finding.details),
        }
        for finding in findings
    ]


def failed(findings: Sequence[Finding]) -> bool:
    """Return whether there are errors among the findings."""
    return any(finding.severity == "error" for finding in findings)


def count(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each kind, such as ``1 error, 2 warnings``; "no findings" for none."""
    counts = {word: sum(finding.severity == word for finding in findings) for word in reversed(_LAST)}
    said = [f"{number} {word}{'s' if number > 1 else ''}" for word, number in counts.items() if number]
    return ", ".join(said) or "no findings"


def print_nodes(
    ranks: Sequence[RankEntry], facts: Mapping[int, NodeFacts | SparkcError], findings: Sequence[Finding]
) -> None:
    """Print one row per node to standard output: what it has, and how much was found."""
    rows = [_row(rank, facts[rank.rank], findings) for rank in ranks]
    print_table(_COLUMNS, rows)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to standard output."""
    for line in table_lines(header, rows):
        click.echo(line)


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _row(rank: RankEntry, facts: NodeFacts | SparkcError, findings: Sequence[Finding]) -> list[str]:
    own = [finding for finding in findings if finding.node == rank.node]
    found = "ok" if not own else count(own)
    if isinstance(facts, SparkcError):
        return [str(rank.rank), rank.node, "unknown", "", "", "", "", found]
    return [
        str(rank.rank),
        rank.node,
        facts.docker or "-",
        facts.compose or "-",
        facts.driver or "-",
        f"{gib(facts.memory_available)} of {gib(facts.memory_total)}",
        gib(min(facts.disk_free.values())) if facts.disk_free else "-",
        found,
    ]
