"""``sparkc logs``: the logs of all ranks, merged by time."""

from __future__ import annotations

import sys

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument
from sparkc.cli.whereabouts import deployed_manifest
from sparkc.errors import SparkcError
from sparkc.record import replace
from sparkc.runner.group import connect
from sparkc.runner.logs import LogLine, Selection, logs
from sparkc.runner.processes import Processes, interruptible
from sparkc.runner.ssh import Ssh

# Two ranks next to each other never have the same colour.
_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "bright_cyan", "bright_yellow", "bright_green")


def _tail(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001 - click's signature
    if value != "all" and not (value.isascii() and value.isdecimal()):
        raise click.BadParameter(f"{value!r} is neither a number of lines nor `all`")
    return value


def _since(ctx: click.Context, param: click.Parameter, value: str | None) -> str:  # noqa: ARG001 - click's signature
    if value is not None and not (value.isascii() and value[:1].isdecimal() and value.isprintable()):
        raise click.BadParameter(f"{value!r} is no time: write 10m, 2h, or 2026-11-30T12:00:00Z")
    return value or ""


@click.command("logs")
@bundle_argument(required=True)
@click.option("-f", "--follow", is_flag=True, help="Go on, until Ctrl-C or the containers end.")
@click.option("--rank", type=click.IntRange(min=0), help="Only this rank.")
@click.option("--tail", "-n", default="200", callback=_tail, metavar="N|all", help="Of each rank the last lines (200).")
@click.option("--since", callback=_since, metavar="TIME", help="Lines since 10m ago, or since 2026-11-30T12:00:00Z.")
@options.inventory
def command(bundle: str, rank: int | None, tail: str, since: str, inventory: str | None, *, follow: bool) -> int:
    """Print the logs of BUNDLE's ranks in order of time, each line with its rank and node.

    \b
    Example:
      sparkc logs minimax-m2-5-awq -f
      sparkc logs minimax-m2-5-awq --rank 1 --tail all > rank-1.log
    """  # noqa: D301 - \b keeps click from wrapping the example
    with interruptible(), Ssh(Processes()) as ssh:
        manifest = deployed_manifest(ssh, bundle, inventory)
        ranks = tuple(entry for entry in manifest.ranks if rank in (None, entry.rank))
        if not ranks:
            raise click.UsageError(f"{manifest.name} has ranks 0 to {len(manifest.ranks) - 1}")
        group = connect(ssh, replace(manifest, ranks=ranks))
        width = max(len(f"[{entry.rank} {entry.node}]") for entry in ranks)
        labels = {entry.rank: f"[{entry.rank} {entry.node}]".ljust(width) for entry in ranks}
        logs(group, Selection(tail, since, follow), lambda line: _show(line, labels[line.rank]))
    if not group.members:
        raise SparkcError("no node could be reached", hint=f"sparkc status {manifest.name}")
    return 0


def _show(line: LogLine, label: str) -> None:
    colour = sys.stdout.isatty()
    prefix = click.style(label, fg=_COLOURS[line.rank % len(_COLOURS)]) if colour else label
    text = f"-- {line.text}" if line.ours else line.text
    click.echo(f"{prefix} {text}", err=line.ours and not colour, color=colour)
