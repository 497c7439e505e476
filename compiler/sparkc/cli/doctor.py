"""``sparkc doctor``: whether nodes are fit to run a bundle, or any bundle, without changing anything on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from sparkc.bundle.manifest import RankEntry
from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, environments_of, open_bundle, open_inventory
from sparkc.cli.findings_output import as_data, count, failed, print_findings, print_nodes
from sparkc.errors import SparkcError
from sparkc.runner.facts import NodeFacts
from sparkc.runner.findings import Finding
from sparkc.runner.look import look_at_all
from sparkc.runner.preflight import inventory_ranks, node_checks, preflight
from sparkc.runner.processes import Processes
from sparkc.runner.query import node_query, query
from sparkc.runner.ssh import Ssh
from sparkc.runner.target import rank_target


@click.command("doctor")
@bundle_argument(required=False)
@options.inventory
@click.option("--require-pinned", is_flag=True, help="An image without a digest is an error.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(bundle: str | None, inventory: str | None, *, require_pinned: bool, as_json: bool) -> int:
    """Check the nodes of BUNDLE for all that it needs; without BUNDLE, the inventory's nodes for what any needs.

    \b
    Example:
      sparkc doctor minimax-m2-5-awq
      sparkc doctor --json | jq '.findings[] | select(.severity == "error")'
    """  # noqa: D301 - \b keeps click from wrapping the example
    if bundle is not None:
        if inventory is not None:
            raise click.UsageError("a bundle has nodes of its own: give BUNDLE or --inventory")
        opened = open_bundle(bundle)
        manifest = opened.manifest
        environments = environments_of(opened)
        ranks: Sequence[RankEntry] = manifest.ranks
        with Ssh(Processes()) as ssh:
            queries = {r.rank: (rank_target(r), query(manifest, r, environments.get(r.rank))) for r in ranks}
            facts = look_at_all(ssh, queries)
        findings = preflight(manifest, facts, environments, require_pinned=require_pinned)
    else:
        nodes = open_inventory(inventory)
        ranks = inventory_ranks(nodes)
        with Ssh(Processes()) as ssh:
            facts = look_at_all(ssh, {r.rank: (rank_target(r), node_query(ranks, r)) for r in ranks})
        findings = node_checks(ranks, nodes.gid.value if nodes.gid else None, facts)
    _print(ranks, facts, findings, as_json=as_json)
    return int(failed(findings))


def _print(
    ranks: Sequence[RankEntry],
    facts: Mapping[int, NodeFacts | SparkcError],
    findings: Sequence[Finding],
    *,
    as_json: bool,
) -> None:
    if as_json:
        import json  # only for programs

        nodes = [{"rank": rank.rank, "node": rank.node, "facts": _facts(facts[rank.rank])} for rank in ranks]
        click.echo(json.dumps({"nodes": nodes, "findings": as_data(findings)}, indent=2, ensure_ascii=False))
        return
    print_nodes(ranks, facts, findings)
    print_findings(findings)
    if not failed(findings):
        click.echo(f"{len(ranks)} node(s) checked: {count(findings)}")


def _facts(facts: NodeFacts | SparkcError) -> dict[str, object] | None:
    """Return what programs ask of a node; None where it could not be looked at."""
    if isinstance(facts, SparkcError):
        return None
    return {
        "docker": facts.docker,
        "compose": facts.compose,
        "driver": facts.driver,
        "architecture": facts.architecture,
        "memory_total": facts.memory_total,
        "memory_available": facts.memory_available,
        "swap_total": facts.swap_total,
        "disk_free": dict(facts.disk_free),
        "containers": [
            {"name": container.name, "bundle": container.bundle, "image": container.image, "state": container.state}
            for container in facts.containers
        ],
    }
