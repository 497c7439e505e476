"""What is done with releases on nodes once they are there: made current, removed when old."""

from __future__ import annotations

from sparkc.errors import SparkcError
from sparkc.runner.group import Group, Member
from sparkc.runner.layout import KEPT, Layout
from sparkc.runner.node_script import Reply, node_script
from sparkc.runner.processes import all_or_raise
from sparkc.runner.ssh import Connection, last_lines


def flip(group: Group) -> None:
    """Make the group's release the current one on all its nodes; what was current becomes the previous one.

    Raises:
        SparkcError: it could not be done on a node.
    """
    all_or_raise(group.each(_flip), "the release could not be made the current one on every node")


def prune(connection: Connection, layout: Layout, kept: int = KEPT) -> tuple[str, ...]:
    """Remove old releases of a bundle on one node and return their digests, newest first.

    The current and the previous release stay, whatever their age, and what a container stands on.

    Raises:
        SparkcError: a release cannot be removed.
    """
    reply = connection.run(node_script("prune", BASE=layout.base, BUNDLE=layout.bundle, KEPT=str(kept)), timeout=120)
    unanswered = "Docker gives no answer, so it is not known which releases are in use; none was removed"
    what = unanswered if reply.code == 11 else "old releases cannot be removed"
    return tuple(_checked(reply, connection, layout, what).sections["removed"].split())


def read_manifest(connection: Connection, layout: Layout, digest: str) -> bytes:
    """Return the bundle.json of a kept release, empty when there is none.

    Raises:
        SparkcError: the connection was lost.
    """
    reply = connection.run(node_script("manifest", FILE=f"{layout.release(digest)}/{layout.bundle}/bundle.json"))
    return reply.sections["manifest"].encode()


def _flip(member: Member) -> Reply:
    script = node_script("flip", BASE=member.layout.base, DIGEST=member.manifest.group_digest)
    reply = member.connection.run(script)
    return _checked(reply, member.connection, member.layout, "the release cannot be made the current one")


def _checked(reply: Reply, connection: Connection, layout: Layout, what: str) -> Reply:
    if reply.code != 0:
        raise SparkcError(
            what,
            host=connection.target.node,
            output=last_lines(reply.sections.get("said", "")),
            hint=f"look at the node: ssh {connection.target.login} ls -la {layout.base}",
        )
    return reply
