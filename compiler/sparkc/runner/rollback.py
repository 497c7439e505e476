"""What a rollback wants: a release that all nodes kept, as it was."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.bundle.load import parse_manifest
from sparkc.bundle.manifest import Manifest
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.runner.facts import NodeFacts, Releases
from sparkc.runner.group import Member
from sparkc.runner.layout import root_layout
from sparkc.runner.look import look_at_all
from sparkc.runner.processes import all_or_raise
from sparkc.runner.query import Query
from sparkc.runner.releases import read_manifest
from sparkc.runner.rollout import Wanted
from sparkc.runner.secrets import Secrets
from sparkc.runner.ssh import Ssh
from sparkc.runner.target import Target
from sparkc.runner.transfer import prepare

_SHORTEST = 4


def find_release(ssh: Ssh, bundle: str, nodes: Mapping[Target, str], wanted: str | None) -> Manifest:
    """Return the manifest of the release to go back to: ``wanted``, the begin of a digest, else the previous one.

    ``nodes`` are those to look at, with the login user's home on each.

    Raises:
        SparkcError: a node cannot be looked at, there is no such release, or several begin so.
    """
    looks = {target: (target, Query.bare(bundle, home)) for target, home in nodes.items()}
    facts = all_or_raise(look_at_all(ssh, looks), "not all nodes can be looked at, so nothing is changed")
    kept = {target: found.releases for target, found in facts.items() if found.releases.kept}
    digest = _digest(bundle, kept, wanted)
    for target, releases in kept.items():
        if releases.find(digest) is not None:
            layout = root_layout(nodes[target], bundle)
            text = read_manifest(ssh.connect(target), layout, digest)
            manifest = parse_manifest(f"{digest[:12]}/bundle.json", text, Report())
            if manifest is not None and manifest.group_digest == digest:
                return manifest
    raise SparkcError(
        f"release {digest[:12]} of {bundle} is damaged on every node", hint=f"sparkc releases {bundle} shows the others"
    )


def wanted_release(manifest: Manifest) -> Wanted:
    """Return what is to run after going back to the release that ``manifest`` describes."""
    return Wanted(
        manifest=manifest,
        environments={},
        secrets=Secrets(),
        prepare=_check,
        doing=f"going back to {manifest.group_digest[:12]}",
    )


def _digest(bundle: str, kept: Mapping[Target, Releases], wanted: str | None) -> str:
    if wanted is not None:
        known = {release.digest for releases in kept.values() for release in releases.kept}
        fitting = sorted(digest for digest in known if digest.startswith(wanted.lower()))
        if len(fitting) == 1 and len(wanted) >= _SHORTEST:
            return fitting[0]
        what = "several releases begin" if len(fitting) > 1 or len(wanted) < _SHORTEST else "no release begins"
        listed = ", ".join(digest[:12] for digest in sorted(known)) or "none"
        raise SparkcError(f"{bundle}: {what} with {wanted!r}", hint=f"kept are: {listed}")
    previous = sorted({releases.previous for releases in kept.values() if releases.previous is not None})
    if not previous:
        raise SparkcError(
            f"{bundle} has no previous release on its nodes",
            hint=f"sparkc releases {bundle} shows what is kept; sparkc rollback {bundle} --to DIGEST takes any of it",
        )
    if len(previous) > 1:
        raise SparkcError(
            f"{bundle} has not the same previous release on every node: {', '.join(each[:12] for each in previous)}",
            hint=f"choose one: sparkc rollback {bundle} --to {previous[0][:12]}",
        )
    return previous[0]


def _check(member: Member, facts: NodeFacts) -> None:
    """Make sure that the release is whole on a node, and its mounts' folders are there."""
    digest = member.manifest.group_digest
    release = facts.releases.find(digest)
    name = member.manifest.name
    if release is None:
        raise SparkcError(
            f"release {digest[:12]} is not on this node any more",
            host=member.node,
            hint=f"sparkc releases {name} shows what all nodes have; or compile what it was again and deploy that",
        )
    if release.changed:
        raise SparkcError(
            f"release {digest[:12]} was changed on this node: {', '.join(release.changed[:5])}",
            host=member.node,
            hint=f"compile what it was again and deploy that; sparkc releases {name} shows the others",
        )
    prepare(member)
