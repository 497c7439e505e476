"""Starting and stopping a group as one unit: waves in order, all nodes of a wave at once, stop in reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.group import Group, Member
from sparkc.runner.layout import Layout
from sparkc.runner.node_script import Reply, node_script
from sparkc.runner.processes import all_or_raise
from sparkc.runner.progress import Progress
from sparkc.runner.ssh import Connection, last_lines
from sparkc.runner.target import Target

# The scripts have limits of their own; these only end a node's silence. A container may take its grace to stop.
_STOP_SECONDS = 1200.0
_START_SECONDS = 600.0


@dataclass(frozen=True)
class Stopped:
    """What a stop did: the removed containers' names, and why it is not known that all are gone, by rank number."""

    removed: Mapping[int, tuple[str, ...]]
    unconfirmed: Mapping[int, SparkcError]


def stop(group: Group, progress: Progress) -> Stopped:
    """Stop and remove the group's containers, in reverse starting order, as far as nodes can be reached.

    What cannot be confirmed on one node keeps none of the others from being stopped.

    Raises:
        KeyboardInterrupt: Ctrl-C; what was under way on the nodes goes on there.
    """
    removed: dict[int, tuple[str, ...]] = {}
    unconfirmed = dict(group.unreached)
    for wave in reversed(group.waves):
        for member in wave:
            progress.node(member.node, "stopping")
        for number, outcome in group.each(_stop_member, wave).items():
            if isinstance(outcome, SparkcError):
                unconfirmed[number] = outcome
            else:
                removed[number] = tuple(outcome.sections["removed"].splitlines())
        for member in wave:
            progress.node(member.node, "unknown" if member.number in unconfirmed else "stopped")
    return Stopped(dict(sorted(removed.items())), dict(sorted(unconfirmed.items())))


def stop_node(connection: Connection, layout: Layout) -> tuple[str, ...]:
    """Stop and remove the bundle's containers on one node and return their names.

    Raises:
        SparkcError: it is not known that none is left.
    """
    return tuple(_stop(connection, layout).sections["removed"].splitlines())


def start(group: Group, progress: Progress, *, back: bool = False) -> None:
    """Start all ranks, wave by wave, each from its release on its node.

    ``back``: it ran before, and gets the secrets that it ran with, not those that its release was given since.

    Raises:
        SparkcError: a rank did not start; later waves were not begun, earlier ones run.
        KeyboardInterrupt: Ctrl-C; what was under way on the nodes may still start there, but before a later stop.
    """
    all_or_raise(group.unreached, "these nodes cannot be reached")
    for wave in group.waves:
        for member in wave:
            progress.node(member.node, "starting")
        all_or_raise(group.each(partial(_start_member, back=back), wave), "these ranks did not start")
        for member in wave:
            progress.node(member.node, "started")


def _stop_member(member: Member) -> Reply:
    return _stop(member.connection, member.layout)


def _stop(connection: Connection, layout: Layout) -> Reply:
    script = node_script("stop", BUNDLE=layout.bundle, BASE=layout.base)
    reply = connection.run(script, timeout=_STOP_SECONDS)
    if reply.code == 0:
        return reply
    target = connection.target
    what = {
        10: "Docker gives no answer, so what runs there is unknown",
        11: "a start of this bundle does not end there, so what runs there is unknown",
    }.get(reply.code, f"containers of {layout.bundle} are still there")
    raise SparkcError(
        what,
        host=target.node,
        output=last_lines(reply.sections.get("said", "")),
        hint=f"look at the node: ssh {target.login} docker ps --all; then type the same command again",
    )


def _start_member(member: Member, *, back: bool) -> Reply:
    layout = member.layout
    script = node_script(
        "start", BUNDLE=layout.bundle, BASE=layout.base, FOLDER=member.folder, BACK="yes" if back else ""
    )
    reply = member.connection.run(script, timeout=_START_SECONDS)
    if reply.code == 0:
        return reply
    said = reply.sections.get("compose", reply.sections.get("said", ""))
    rank = f"rank {member.number} ({member.rank.role})"
    login = member.connection.target.login
    if "compose" in reply.sections:
        what, hint = f"Compose did not start {rank}", _start_hint(said, member.manifest.image, member.connection.target)
    elif reply.code == 12:
        names = said.split()
        what = f"{rank} is not started: the Compose project {layout.bundle} has a container that is not ours"
        hint = f"if it is not needed any more, type: ssh {login} docker rm --force {' '.join(names)}"
    elif reply.code == 11:
        what = f"{rank} is not started: another start of this bundle does not end there"
        hint = f"look at the node: ssh {login} ps -ef"
    else:
        what = f"{rank} is not started: {member.folder} cannot be entered"
        hint = f"deploy again; if that does not help, look at the node: ssh {login} ls -la {layout.base}"
    raise SparkcError(what, host=member.node, output=last_lines(said), hint=hint)


def _start_hint(said: str, image: str, target: Target) -> str | None:
    """Return what to type for the faults of a start that the texts of Docker and Compose tell apart."""
    text = said.lower()
    login = target.login
    rules: Sequence[tuple[str, str]] = (
        ("no such image", f"the image is gone from the node: ssh {login} docker pull {image}"),
        ("could not select device driver", f"the node has no NVIDIA runtime: ssh {login} nvidia-ctk --version"),
        ("bind source path does not exist", "a folder is gone from the node; deploying again makes those of sparkc"),
        (
            "permission denied",
            f"may the login user use Docker? ssh {login} sudo usermod -aG docker {target.user}",
        ),
        ("address already in use", f"something holds the port: ssh {login} ss -ltnp"),
        ("no space left", f"the node's disk is full: ssh {login} df -h"),
    )
    return next((hint for words, hint in rules if words in text), None)
