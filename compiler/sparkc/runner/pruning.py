"""Removing old releases of a bundle from all its nodes, under its lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial

from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.facts import NodeFacts
from sparkc.runner.lock import held
from sparkc.runner.processes import failures, successes
from sparkc.runner.progress import Progress
from sparkc.runner.release_list import layout_on, looked_at
from sparkc.runner.releases import prune
from sparkc.runner.ssh import Ssh
from sparkc.runner.survey import Survey, survey
from sparkc.runner.target import Target

_LOCK_SECONDS = 600


@dataclass(frozen=True)
class Pruned:
    """The digests that were removed, by node name, and what went wrong."""

    removed: Mapping[str, tuple[str, ...]]
    failed: tuple[SparkcError, ...]


def bundles_on(ssh: Ssh, nodes: Mapping[Target, str]) -> tuple[dict[str, dict[Target, str]], tuple[SparkcError, ...]]:
    """Return the bundles that have releases on ``nodes``, each with those nodes, and why some could not be asked."""
    looked, unknown = looked_at(survey(ssh, nodes, None))
    asked = {target: (home, looked[target].bundles) for target, home in nodes.items() if target in looked}
    names = sorted({name for _, bundles in asked.values() for name in bundles})
    return {
        name: {target: home for target, (home, bundles) in asked.items() if name in bundles} for name in names
    }, unknown


def prune_bundle(ssh: Ssh, bundle: str, nodes: Mapping[Target, str], progress: Progress) -> Pruned:
    """Remove old releases from ``nodes`` and from those that a deployed group has besides.

    Raises:
        KeyboardInterrupt: Ctrl-C; some nodes may be pruned then, which does no harm.
    """
    found = survey(ssh, nodes, bundle)
    looked, unknown = looked_at(found)
    keeping = {target: facts for target, facts in looked.items() if facts.releases.kept}
    with ExitStack() as locks:
        try:
            for target in _locked_on(found, bundle, keeping):
                layout = layout_on(looked[target], bundle)
                locks.enter_context(held(ssh.connect(target), layout, "pruning", _LOCK_SECONDS, progress))
        except SparkcError as error:
            return Pruned({}, (*unknown, error))
        outcomes = ssh.processes.fan_out(
            {target: partial(prune, ssh.connect(target), layout_on(facts, bundle)) for target, facts in keeping.items()}
        )
    removed = {target.node: digests for target, digests in successes(outcomes).items()}
    return Pruned(removed, (*unknown, *failures(outcomes).values()))


def _locked_on(found: Survey, bundle: str, keeping: Mapping[Target, NodeFacts]) -> Iterable[Target]:
    """Return the nodes whose lock keeps others from changing the bundle: where a rank 0 is, or somebody is at work.

    Raises:
        SparkcError: one of them cannot be reached.
    """
    heads = [found.of(manifest.ranks[0]) for manifest in found.deployed.get(bundle, ())]
    for head in heads:
        if isinstance(head.found, SparkcError):
            raise SparkcError(
                f"{bundle} cannot be locked, since rank 0 is on {head.target.node}, which is not reached; nothing was "
                "removed",
                hint=head.found.hint,
            )
    locked = [target for target, facts in keeping.items() if facts.releases.lock is not None]
    # A bundle that never came to serve has no rank 0 that is known of.
    return dict.fromkeys([head.target for head in heads] + locked) or list(keeping)[:1]
