"""One bundle onto its nodes: look at all, prepare all, then switch as one unit. Deploys and rollbacks are both this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial

from sparkc.bundle.load import parse_manifest
from sparkc.bundle.manifest import Manifest
from sparkc.diagnostics.model import Report
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.actions import Action, decide, deployed, unchanged
from sparkc.runner.facts import NodeFacts
from sparkc.runner.findings import Finding
from sparkc.runner.group import Group, Member, connect
from sparkc.runner.lock import held
from sparkc.runner.look import look_at_all
from sparkc.runner.preflight import Environments, preflight
from sparkc.runner.processes import all_or_raise, failures
from sparkc.runner.progress import Progress
from sparkc.runner.query import query
from sparkc.runner.releases import flip, prune
from sparkc.runner.secrets import Secrets
from sparkc.runner.ssh import Ssh
from sparkc.runner.switch import How, SwitchFailed, switch, wait
from sparkc.runner.target import rank_target

_MARGIN_SECONDS = 1800


@dataclass(frozen=True)
class Wanted:
    """What is to run: a bundle, its ranks' variables, its secrets, and what is done about the nodes.

    ``prepare`` brings one rank's release to its node, given what the node was found to be. ``replaced`` names other
    bundles that make room.
    """

    manifest: Manifest
    environments: Environments
    secrets: Secrets
    prepare: Callable[[Member, NodeFacts], None]
    doing: str
    require_pinned: bool = False
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forecast:
    """What was found on the nodes, and what follows: findings of the preflight, and an action per rank."""

    group: Group
    facts: Mapping[int, NodeFacts | SparkcError]
    findings: Sequence[Finding]
    actions: Sequence[Action]

    @property
    def failed(self) -> bool:
        """Whether something stands in the way."""
        return any(finding.severity == "error" for finding in self.findings)

    @property
    def unchanged(self) -> bool:
        """Whether there is nothing to do."""
        return not self.failed and unchanged(self.actions)

    @property
    def looked(self) -> dict[int, NodeFacts]:
        """The nodes that could be looked at."""
        return {rank: facts for rank, facts in self.facts.items() if isinstance(facts, NodeFacts)}


def forecast(ssh: Ssh, wanted: Wanted) -> Forecast:
    """Look at all nodes at once, with one command each, and return what a roll-out would do. Nothing is changed."""
    ranks = wanted.manifest.ranks
    queries = {
        rank.rank: (rank_target(rank), query(wanted.manifest, rank, wanted.environments.get(rank.rank)))
        for rank in ranks
    }
    facts = look_at_all(ssh, queries)
    failed = {rank_target(rank).login: found for rank in ranks if isinstance(found := facts[rank.rank], SparkcError)}
    group = connect(ssh, wanted.manifest, failed)
    findings = preflight(
        wanted.manifest,
        facts,
        wanted.environments,
        require_pinned=wanted.require_pinned,
        replaced=wanted.replaced,
    )
    return Forecast(group, facts, findings, decide(wanted.manifest, facts, wanted.secrets.sha256))


def roll_out(ssh: Ssh, wanted: Wanted, how: How, progress: Progress) -> Forecast:
    """Bring what is wanted onto the nodes and make it the current release; return what was found under the lock.

    Where the forecast under the lock shows errors or nothing to do, nothing was done.

    Raises:
        SwitchFailed: the new group does not serve; what serves is in it.
        SparkcError: before anything that runs was touched.
        KeyboardInterrupt: likewise.
    """
    group = connect(ssh, wanted.manifest)
    all_or_raise(group.unreached, "these nodes cannot be reached")
    head = group.members[0]
    seconds = _MARGIN_SECONDS + 2 * (how.wait_seconds or 0)
    with ExitStack() as locks:
        progress.phase("look at the nodes")
        lock = locks.enter_context(held(head.connection, head.layout, wanted.doing, seconds, progress))
        found = forecast(ssh, wanted)
        if found.failed or found.unchanged:
            return found
        others = _others(ssh, wanted, found)
        for other in others:
            first = other.members[0]
            doing = f"being replaced by {wanted.manifest.name}"
            locks.enter_context(held(first.connection, first.layout, doing, seconds, progress))
        known = tuple(connect(ssh, manifest) for manifest in deployed(found.looked))
        progress.phase("upload")
        _prepare(found, wanted, progress)
        lock.check()
        if any(action.kind not in ("none", "wait") for action in found.actions):
            _switch(found, known, others, how, progress)
        else:
            wait(found.group, how, progress)
        _finish(found.group, progress)
        return found


def _finish(group: Group, progress: Progress) -> None:
    """Note on the nodes what now serves, and remove old releases. A Ctrl-C comes too late to undo anything here.

    Raises:
        SwitchFailed: it could not be noted on every node.
    """
    try:
        progress.phase("finish")
        _make_current(group)
    except KeyboardInterrupt:
        # It takes a moment, and the next command needs it.
        _make_current(group)
    with suppress(KeyboardInterrupt):
        _prune(group, progress)


def _make_current(group: Group) -> None:
    try:
        flip(group)
    except SparkcError as error:
        raise SwitchFailed(
            f"{group.manifest.name} is started, but that could not be noted on every node",
            interrupted=False,
            output=error.facts,
            hint="mend that and deploy again, which notes it; until then a rollback may go to another release",
        ) from error


def _prune(group: Group, progress: Progress) -> None:
    jobs = {member.number: partial(prune, member.connection, member.layout) for member in group.members}
    for error in failures(group.processes.fan_out(jobs)).values():
        progress.say(f"{error.host}: {error.message}; sparkc prune {group.manifest.name} tries again")


def _prepare(found: Forecast, wanted: Wanted, progress: Progress) -> None:
    def prepare(member: Member) -> None:
        progress.node(member.node, "uploading")
        wanted.prepare(member, found.looked[member.number])
        progress.node(member.node, "uploaded")

    jobs = {member.number: partial(prepare, member) for member in found.group.members}
    try:
        all_or_raise(found.group.processes.fan_out(jobs), "these nodes could not be prepared")
    except SparkcError as error:
        error.message += "; nothing that runs was touched"
        raise


def _switch(found: Forecast, known: tuple[Group, ...], others: tuple[Group, ...], how: How, progress: Progress) -> None:
    """Stop all that runs of the bundle, also on nodes that it leaves, and start the new group.

    ``known`` are the groups of the nodes' current releases, several after a deploy that was cut off.
    """
    digests = {
        container.rank_digest
        for facts in found.looked.values()
        if (container := facts.of(found.group.manifest.name)) is not None
        and container.state in ("running", "restarting")
    }
    # What runs may be a start that was cut off before it became a release: then the last release is what was good.
    serving = tuple(group for group in known if digests & {rank.digest for rank in group.manifest.ranks})
    own = (serving or known)[:1] if digests else ()
    switch(found.group, (*others, *known), (*others, *own), how, progress)


def _others(ssh: Ssh, wanted: Wanted, found: Forecast) -> tuple[Group, ...]:
    """Return the groups of the bundles that are replaced, as the nodes know them."""
    groups = []
    for name in wanted.replaced:
        texts = [facts.neighbours[name] for facts in found.looked.values() if name in facts.neighbours]
        manifest = next(filter(None, (parse_manifest(f"{name}/bundle.json", text, Report()) for text in texts)), None)
        if manifest is None:
            raise SparkcError(
                f"{name} is to be replaced, but no release of it is known on these nodes",
                hint=f"sparkc status {name}; sparkc down {name} stops it by its label",
            )
        group = connect(ssh, manifest)
        all_or_raise(group.unreached, f"nodes of {name} cannot be reached")
        groups.append(group)
    return tuple(groups)
