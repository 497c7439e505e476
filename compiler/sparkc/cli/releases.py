"""``sparkc releases``: which releases of a bundle the nodes keep."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument, has_folder, nodes_of
from sparkc.cli.findings_output import print_table
from sparkc.errors import SparkcError
from sparkc.runner.actions import age
from sparkc.runner.facts import NodeFacts
from sparkc.runner.processes import Processes
from sparkc.runner.release_list import KeptRelease, kept_releases, looked_at
from sparkc.runner.ssh import Ssh
from sparkc.runner.survey import survey

_COLUMNS = ("RELEASE", "STARTED", "IS", "NODES", "CHANGED FILES")


@click.command("releases")
@bundle_argument(required=True)
@options.inventory
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(bundle: str, inventory: str | None, *, as_json: bool) -> int:
    """List the releases of BUNDLE that its nodes keep, the one started last first.

    Without a folder of that name, the nodes of the inventory are asked.

    \b
    Example:
      sparkc releases minimax-m2-5-awq
      sparkc releases minimax-m2-5-awq --json | jq -r '.releases[].digest'
    """  # noqa: D301 - \b keeps click from wrapping the example
    name, nodes = nodes_of(bundle, inventory)
    with Ssh(Processes()) as ssh:
        looked, unknown = looked_at(survey(ssh, nodes, name))
    facts = {target.node: found for target, found in looked.items()}
    releases = kept_releases(facts)
    if not releases and not unknown and not has_folder(bundle):
        raise SparkcError(f"there is no bundle {name}, and no release of it on these nodes", hint=_near(name, facts))
    if as_json:
        _print_json(name, releases, unknown)
    else:
        _print(name, releases, unknown, facts)
    return int(bool(unknown))


def _near(name: str, facts: dict[str, NodeFacts]) -> str:
    from sparkc.diagnostics.suggest import did_you_mean  # only on the way to an error message

    known = sorted({bundle for node in facts.values() for bundle in node.bundles})
    return did_you_mean(name, known) or (f"they keep: {', '.join(known)}" if known else "they keep none at all")


def _print(
    name: str, releases: Sequence[KeptRelease], unknown: Sequence[SparkcError], facts: dict[str, NodeFacts]
) -> None:
    if releases:
        print_table(_COLUMNS, [_row(release) for release in releases])
    elif not unknown:
        click.echo(f"no release of {name} is kept on {', '.join(facts)}")
    for error in unknown:
        click.echo(f"not known of {error}", err=True)


def _row(release: KeptRelease) -> list[str]:
    states = (_where("current", release.current, release), _where("previous", release.previous, release))
    return [
        release.digest[:12],
        "never" if release.age is None else f"{age(release.age)} ago",
        ", ".join(filter(None, states)) or "-",
        ", ".join(release.nodes),
        "; ".join(f"{node}: {', '.join(files)}" for node, files in release.changed.items()) or "-",
    ]


def _where(what: str, nodes: tuple[str, ...], release: KeptRelease) -> str:
    """Return what a release is; with the nodes, if it is not that on all that keep it."""
    if not nodes:
        return ""
    return what if nodes == release.nodes else f"{what} on {', '.join(nodes)}"


def _print_json(name: str, releases: Sequence[KeptRelease], unknown: Sequence[SparkcError]) -> None:
    import json  # only for programs

    data = {
        "bundle": name,
        "releases": [
            {
                "digest": release.digest,
                "started_seconds_ago": None if release.age is None else round(release.age),
                "nodes": release.nodes,
                "current": release.current,
                "previous": release.previous,
                "changed": release.changed,
            }
            for release in releases
        ],
        "unknown": {error.host: error.message for error in unknown},
    }
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
