"""Taking a bundle's lock away from whoever holds it, when a person has decided that."""

from __future__ import annotations

from sparkc.errors import SparkcError
from sparkc.runner.facts import Holder
from sparkc.runner.layout import Layout
from sparkc.runner.node_script import node_script
from sparkc.runner.parse_releases import parse_lock
from sparkc.runner.ssh import Connection, last_lines


def unlock(connection: Connection, layout: Layout) -> Holder | None:
    """Remove the bundle's lock on a node and return who held it, None if nobody did.

    Raises:
        SparkcError: it cannot be removed, or the connection was lost.
    """
    reply = connection.run(node_script("unlock", BASE=layout.base))
    if reply.code == 0:
        return parse_lock(reply.sections["lock"], 0) if "lock" in reply.sections else None
    raise SparkcError(
        f"the lock of {layout.bundle} cannot be removed",
        host=connection.target.node,
        output=last_lines(reply.sections["said"]),
        hint=f"look at the node: ssh {connection.target.login} ls -la {layout.base}",
    )
