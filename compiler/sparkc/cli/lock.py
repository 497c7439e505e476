"""``sparkc lock``: who is at work on a bundle, and taking the lock away from one that is gone."""

from __future__ import annotations

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, nodes_of
from sparkc.diagnostics.escape import printable
from sparkc.runner.facts import Holder, NodeFacts
from sparkc.runner.lock import describe
from sparkc.runner.processes import Processes
from sparkc.runner.release_list import layout_on, looked_at
from sparkc.runner.ssh import Ssh
from sparkc.runner.survey import survey
from sparkc.runner.unlock import unlock


@click.command("lock")
@click.argument("action", type=options.Choice(["status", "release"]), metavar="status|release")
@bundle_argument(required=True)
@options.inventory
def command(action: str, bundle: str, inventory: str | None) -> int:
    """Show who holds the lock of BUNDLE, or release it.

    What changes a bundle on its nodes holds its lock meanwhile. A lock whose sparkc is gone is taken over by the next
    command; release one by hand only if its sparkc certainly does nothing any more.

    \b
    Example:
      sparkc lock status minimax-m2-5-awq
      sparkc lock release minimax-m2-5-awq
    """  # noqa: D301 - \b keeps click from wrapping the example
    name, nodes = nodes_of(bundle, inventory)
    with Ssh(Processes()) as ssh:
        looked, unknown = looked_at(survey(ssh, nodes, name))
        locked = {target: facts for target, facts in looked.items() if facts.releases.lock is not None}
        for target, facts in locked.items():
            holder = facts.releases.lock
            if action == "release":
                holder = unlock(ssh.connect(target), layout_on(facts, name)) or holder
            assert holder is not None  # noqa: S101 - `locked` has no other
            click.echo(printable(f"{target.node}: {_sentence(action, holder, facts)}"))
    for error in unknown:
        click.echo(f"not known of {error}", err=True)
    if not locked and not unknown:
        click.echo(f"{name} is not locked")
    return int(bool(unknown) and not locked)


def _sentence(action: str, holder: Holder, facts: NodeFacts) -> str:
    who = describe(holder, facts.clock)
    if action == "release":
        return f"released the lock of {who}"
    return f"locked by {who}" if holder.alive else f"left behind by {who}; the next command takes it over"
