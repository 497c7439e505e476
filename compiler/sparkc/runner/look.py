"""One look at a node: one remote command answers all that plan, deploy, doctor, status and releases ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sparkc.errors import SparkcError
from sparkc.runner.facts import NodeFacts
from sparkc.runner.node_script import node_script
from sparkc.runner.parse_look import parse_facts
from sparkc.runner.query import Query
from sparkc.runner.ssh import Connection, Ssh
from sparkc.runner.target import Target

K = TypeVar("K")


def look(connection: Connection, query: Query) -> NodeFacts:
    """Return what a node is found to be; nothing on it is changed.

    Raises:
        SparkcError: the connection was lost, or there was no answer in time.
        Interrupted: the run was interrupted.
    """
    script = node_script(
        "probe",
        HOME_FOLDER=query.home or "",
        BUNDLE=query.bundle or "",
        IMAGE=query.image or "",
        MTU_OF=query.interface or "",
        PORTS=[str(port) for port in query.ports],
        PATHS=query.paths,
        PEERS=query.peers,
        MODEL_KINDS=["hub" if place.hub else "path" for place in query.models],
        MODEL_FOLDERS=[place.folder for place in query.models],
        MODEL_REVISIONS=[place.revision for place in query.models],
    )
    reply = connection.run(script, timeout=90)
    return parse_facts(query, reply.sections, reply.stray)


def look_at_all(ssh: Ssh, queries: Mapping[K, tuple[Target, Query]]) -> dict[K, NodeFacts | SparkcError]:
    """Connect to all nodes and look at them, all at once; a node that cannot be reached has its error in its place."""
    return ssh.processes.fan_out(
        {
            key: lambda target=target, query=query: look(ssh.connect(target), query)  # type: ignore[misc]
            for key, (target, query) in queries.items()
        }
    )
