"""``sparkc down``: stops a bundle's ranks on all nodes, and says of which nodes it cannot be sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import click

from sparkc.bundle.manifest import Manifest
from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, open_bundle
from sparkc.cli.progress import make_progress
from sparkc.cli.whereabouts import Meant, meant_by
from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.runner.group import Group, connect
from sparkc.runner.layout import root_layout
from sparkc.runner.lifecycle import stop, stop_node
from sparkc.runner.lock import held
from sparkc.runner.processes import Processes, interruptible
from sparkc.runner.progress import Progress
from sparkc.runner.ssh import Ssh
from sparkc.runner.survey import Seen, Survey, survey
from sparkc.runner.target import rank_target

# How long the lock counts should nobody release it: every wave may take its containers' whole grace to stop.
_LOCK_SECONDS = 1800.0


@click.command("down")
@bundle_argument(required=True)
@options.inventory
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no progress.")
def command(bundle: str, inventory: str | None, *, as_json: bool) -> int:
    """Stop BUNDLE on all its nodes, in reverse starting order. Works by name when its folder is gone.

    Exits with 1 and names the nodes of which it is not certain that nothing runs there any more.

    \b
    Example:
      sparkc down minimax-m2-5-awq
    """  # noqa: D301 - \b keeps click from wrapping the example
    try:
        return _down(bundle, inventory, as_json=as_json)
    except KeyboardInterrupt:
        click.echo(f"a stop that was under way goes on on its node; sparkc status {bundle} shows what runs", err=True)
        raise


def _down(bundle: str, inventory: str | None, *, as_json: bool) -> int:
    meant = meant_by(bundle, inventory)
    with interruptible(), Ssh(Processes()) as ssh, make_progress(as_json=as_json) as progress:
        progress.phase(f"stop {meant.name}")
        found = survey(ssh, meant.start, meant.name)
        groups = found.deployed.get(meant.name) or ((meant.compiled,) if meant.compiled is not None else ())
        others = _others(found, meant, groups)
        if not groups and not others:
            open_bundle(bundle)  # nobody knows it: says what is there instead
        with _locked(ssh, found, meant.name, groups, progress):
            connected = [connect(ssh, manifest, found.failed) for manifest in groups]
            removed, unconfirmed = _stop(ssh, meant.name, connected, others, progress)
    if as_json:
        _print_json(meant.name, removed, unconfirmed)
        return int(bool(unconfirmed))
    for node, names in removed.items():
        click.echo(f"{printable(node)}: {', '.join(map(printable, names))} stopped and removed")
    if unconfirmed:
        raise SparkcError(
            f"{meant.name} may still run on {', '.join(unconfirmed)}",
            output="\n".join(error.facts for error in unconfirmed.values()),
            hint=next((error.hint for error in unconfirmed.values() if error.hint), None),
        )
    click.echo(f"{meant.name} is down" if removed else f"{meant.name} did not run")
    return 0


def _print_json(name: str, removed: Mapping[str, tuple[str, ...]], unconfirmed: Mapping[str, SparkcError]) -> None:
    import json  # only for programs

    unknown = [{"node": node, "message": error.message, "hint": error.hint} for node, error in unconfirmed.items()]
    data = {"bundle": name, "removed": {node: list(names) for node, names in removed.items()}, "unconfirmed": unknown}
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _others(found: Survey, meant: Meant, groups: Sequence[Manifest]) -> list[Seen]:
    """Return the nodes outside the groups that have the bundle's container, or may have it."""
    inside = {rank_target(rank).login for manifest in groups for rank in manifest.ranks}
    outside = [seen for login, seen in found.nodes.items() if login not in inside]
    return [
        seen
        for seen in outside
        # A node of the inventory that is off is no reason to doubt a group whose nodes are known.
        if (not groups if isinstance(seen.found, SparkcError) else seen.found.of(meant.name) is not None)
    ]


def _stop(
    ssh: Ssh, name: str, groups: Sequence[Group], others: Sequence[Seen], progress: Progress
) -> tuple[dict[str, tuple[str, ...]], dict[str, SparkcError]]:
    """Stop everything; return the names of what was removed, and why something is not certain, by node."""
    removed: dict[str, tuple[str, ...]] = {}
    unconfirmed: dict[str, SparkcError] = {}
    for group in groups:
        nodes = {rank.rank: rank.node for rank in group.manifest.ranks}
        stopped = stop(group, progress)
        for number, names in stopped.removed.items():
            removed[nodes[number]] = removed.get(nodes[number], ()) + names
        unconfirmed |= {nodes[number]: error for number, error in stopped.unconfirmed.items()}
    jobs = {
        seen.target.node: partial(stop_node, ssh.connect(seen.target), root_layout(seen.found.home, name))
        for seen in others
        if not isinstance(seen.found, SparkcError)
    }
    unconfirmed |= {seen.target.node: seen.found for seen in others if isinstance(seen.found, SparkcError)}
    for node, outcome in ssh.processes.fan_out(jobs).items():
        if isinstance(outcome, SparkcError):
            unconfirmed[node] = outcome
        else:
            removed[node] = outcome
    return {node: names for node, names in removed.items() if names}, unconfirmed


@contextmanager
def _locked(ssh: Ssh, found: Survey, name: str, groups: Sequence[Manifest], progress: Progress) -> Iterator[None]:
    """Hold the bundle's lock, which is on the node of rank 0; what can be stopped is stopped without it too."""
    rank = groups[0].ranks[0] if groups else None
    seen = None if rank is None else found.nodes[rank_target(rank).login]
    if rank is None or seen is None:
        yield
    elif isinstance(seen.found, SparkcError):
        progress.say(
            f"{rank.node} has the lock and cannot be reached: nothing keeps another sparkc from starting {name}"
        )
        yield
    else:
        with held(ssh.connect(seen.target), root_layout(rank.home, name), "down", _LOCK_SECONDS, progress):
            yield
