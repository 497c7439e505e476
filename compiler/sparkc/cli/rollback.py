"""``sparkc rollback``: back to a release that the nodes kept."""

from __future__ import annotations

from collections.abc import Mapping

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, has_folder, open_bundle, open_inventory
from sparkc.cli.roll_out import Manner, run_roll_out
from sparkc.runner.processes import Processes
from sparkc.runner.rollback import find_release, wanted_release
from sparkc.runner.ssh import Ssh
from sparkc.runner.switch import How
from sparkc.runner.target import Target, make_target, rank_target


@click.command("rollback")
@bundle_argument(required=True)
@click.option("--to", metavar="DIGEST", help="A kept release by the begin of its digest, not the previous one.")
@options.inventory
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@click.option("--dry-run", is_flag=True, help="Check everything, change nothing.")
@click.option("--no-wait", is_flag=True, help="Return once all ranks are started.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no progress.")
def command(
    bundle: str, *, to: str | None, inventory: str | None, yes: bool, dry_run: bool, no_wait: bool, as_json: bool
) -> int:
    """Stop what runs of BUNDLE and start the previous release, from what its nodes kept.

    Every node must still have the release and its image; that is checked before anything is stopped. Without the
    bundle's folder, the nodes of the inventory are asked.

    \b
    Example:
      sparkc rollback minimax-m2-5-awq
      sparkc rollback minimax-m2-5-awq --to 0988df15c9be
    """  # noqa: D301 - \b keeps click from wrapping the example
    name, nodes = _nodes(bundle, inventory)
    with Ssh(Processes()) as ssh:
        manifest = find_release(ssh, name, nodes, to)
        # A start of its own: what the failed deploy waited does not count.
        how = How(None if no_wait else manifest.ready_timeout)
        digest = manifest.group_digest[:12]
        return run_roll_out(
            ssh, wanted_release(manifest), how, Manner(f"roll {name} back to {digest}", yes, dry_run, as_json)
        )


def _nodes(bundle: str, inventory: str | None) -> tuple[str, Mapping[Target, str]]:
    """Return the bundle's name and the nodes to look at, with the home on each."""
    if inventory is None and has_folder(bundle):
        manifest = open_bundle(bundle).manifest
        return manifest.name, {rank_target(rank): rank.home for rank in manifest.ranks}
    nodes = open_inventory(inventory).nodes
    return bundle, {make_target(node.name.value, node.ssh.value, node.user.value): node.home.value for node in nodes}
