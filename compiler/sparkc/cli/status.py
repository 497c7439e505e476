"""``sparkc status``: how every rank is, in one table; what cannot be seen is unknown, not down."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import NoReturn

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, inventory_nodes, open_bundle
from sparkc.cli.status_output import Shown, as_data, lines
from sparkc.cli.whereabouts import Meant, meant_by
from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.deep_probe import API_KEYS, deep_probe
from sparkc.runner.group import connect
from sparkc.runner.processes import Processes, interruptible
from sparkc.runner.ssh import Ssh
from sparkc.runner.status import BundleStatus, bundle_status, running_bundles
from sparkc.runner.survey import survey

_WATCH_SECONDS = 5.0


@dataclass(frozen=True)
class _Picture:
    """What one look at all nodes gave. ``unreachable`` are nodes of the inventory that could not be looked at."""

    shown: tuple[Shown, ...]
    nodes: tuple[str, ...]
    unreachable: Mapping[str, SparkcError]

    @property
    def well(self) -> bool:
        return not self.unreachable and all(shown.well for shown in self.shown)

    def lines(self) -> list[str]:
        parts = [list(lines(shown)) for shown in self.shown]
        seen = [node for node in self.nodes if node not in self.unreachable]
        if not parts and seen:
            parts = [[f"no bundle runs on {', '.join(seen)}"]]
        unknown = [printable(f"{node} is unknown: {error.message}") for node, error in self.unreachable.items()]
        return [line for part in (*parts, unknown) if part for line in (*part, "")][:-1]


@click.command("status")
@bundle_argument(required=False)
@options.inventory
@click.option("--deep", is_flag=True, help="Let each API complete one token: health checks miss a dead worker.")
@click.option("--watch", "-w", is_flag=True, help="Look again every few seconds, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(bundle: str | None, inventory: str | None, *, deep: bool, watch: bool, as_json: bool) -> int:
    """Show how each rank of BUNDLE is; without BUNDLE, of all bundles on the inventory's nodes.

    Exits with 0 if all ranks serve, with 1 if one does not or cannot be seen.

    \b
    Example:
      sparkc status
      sparkc status minimax-m2-5-awq --deep
    """  # noqa: D301 - \b keeps click from wrapping the example
    if watch and as_json:
        raise click.UsageError("--watch is for people, --json for programs: choose one")
    meant = None if bundle is None else meant_by(bundle, inventory)
    with interruptible(), Ssh(Processes()) as ssh:
        if watch:
            _watch(lambda: _look(ssh, meant, bundle, inventory, deep=deep))
        picture = _look(ssh, meant, bundle, inventory, deep=deep)
    if as_json:
        import json  # only for programs

        click.echo(json.dumps(as_data(picture.shown, picture.unreachable), indent=2, ensure_ascii=False))
    else:
        for line in picture.lines():
            click.echo(line)
    return 0 if picture.well else 1


def _look(ssh: Ssh, meant: Meant | None, argument: str | None, inventory: str | None, *, deep: bool) -> _Picture:
    found = survey(ssh, inventory_nodes(inventory) if meant is None else meant.start, meant.name if meant else None)
    names = running_bundles(found) if meant is None else [meant.name]
    compiled = None if meant is None else meant.compiled
    statuses = [bundle_status(found, name, compiled) for name in names]
    if meant is not None and argument is not None and not statuses[0].rows:
        open_bundle(argument)  # nobody knows it: says what is there instead
    shown = tuple(Shown(status, compiled, _completions(ssh, status) if deep else {}) for status in statuses)
    failed = {seen.target.node: seen.found for seen in found.nodes.values() if isinstance(seen.found, SparkcError)}
    nodes = tuple(seen.target.node for seen in found.nodes.values())
    return _Picture(shown, nodes, failed if meant is None else {})


def _completions(ssh: Ssh, status: BundleStatus) -> Mapping[int, str | SparkcError | None]:
    """Return what one token of each rank's API gives; nothing where health checks already tell that it is not well."""
    if status.manifest is None or not status.serves:
        return {}
    secrets = {name: os.environ[name] for name in API_KEYS if name in os.environ}
    return deep_probe(connect(ssh, status.manifest), secrets)


def _watch(look: Callable[[], _Picture]) -> NoReturn:
    if not sys.stdout.isatty():
        while True:
            click.echo("\n".join((*look().lines(), "")))
            time.sleep(_WATCH_SECONDS)
    from rich.live import Live  # 45 ms that only a live display needs
    from rich.text import Text

    with Live(Text("looking"), auto_refresh=False) as live:
        while True:
            live.update(Text("\n".join(look().lines()), no_wrap=True), refresh=True)
            time.sleep(_WATCH_SECONDS)
