"""``sparkc prune``: remove old releases from the nodes."""

from __future__ import annotations

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, inventory_nodes, nodes_of
from sparkc.cli.progress import make_progress
from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.runner.processes import Processes, interruptible
from sparkc.runner.pruning import bundles_on, prune_bundle
from sparkc.runner.ssh import Ssh


@click.command("prune")
@bundle_argument(required=False, many=True)
@options.inventory
def command(bundles: tuple[str, ...], inventory: str | None) -> int:
    """Remove old releases of each BUNDLE; without BUNDLE, of all that the inventory's nodes keep.

    The three that were started last stay, and so do the current one, the previous one, and one that a container
    stands on. A deploy does the same at its end.

    \b
    Example:
      sparkc prune minimax-m2-5-awq
      sparkc prune
    """  # noqa: D301 - \b keeps click from wrapping the example
    failed: list[SparkcError] = []
    removed: list[str] = []
    with interruptible(), Ssh(Processes()) as ssh, make_progress() as progress:
        if bundles:
            wanted = dict(nodes_of(bundle, inventory) for bundle in bundles)
        else:
            wanted, unknown = bundles_on(ssh, inventory_nodes(inventory))
            failed += unknown
        for name, nodes in wanted.items():
            progress.phase(f"prune {name}")
            pruned = prune_bundle(ssh, name, nodes, progress)
            failed += pruned.failed
            for node, digests in pruned.removed.items():
                listed = ", ".join(digest[:12] for digest in digests) or "nothing to remove"
                removed.append(f"{name} on {node}: {listed}")
    for line in removed:
        click.echo(printable(line))
    if not removed and not failed:
        click.echo("these nodes keep no releases")
    for text in dict.fromkeys(map(str, failed)):
        click.echo(f"failed: {text}", err=True)
    return int(bool(failed))
