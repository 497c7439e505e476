"""``sparkc exec``: runs a command in one rank's container."""

from __future__ import annotations

import base64
import shlex
import sys
from collections.abc import Sequence

import click

from sparkc.cli import options
from sparkc.cli.bundle_argument import bundle_argument
from sparkc.cli.whereabouts import deployed_manifest
from sparkc.errors import SparkcError
from sparkc.record import replace
from sparkc.runner.group import Member, connect
from sparkc.runner.node_script import node_script
from sparkc.runner.processes import Processes, interruptible
from sparkc.runner.ssh import Ssh, last_lines

# What would make the node's docker talk to another engine than the one that was asked for the container.
_SCRUBBED = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_API_VERSION", "DOCKER_TLS_VERIFY")


@click.command("exec", cls=options.EngineCommand)
@bundle_argument(required=True)
@click.option("--rank", type=click.IntRange(min=0), default=0, help="In which rank's container (0).")
@options.inventory
@click.pass_context
def command(ctx: click.Context, bundle: str, rank: int, inventory: str | None) -> int:
    """Run the command after `--` in the container of a rank of BUNDLE, and exit with its exit code.

    On a terminal it gets one; otherwise standard input and output are passed on as they are.

    \b
    Example:
      sparkc exec minimax-m2-5-awq --rank 1 -- nvidia-smi
      sparkc exec minimax-m2-5-awq -- bash
    """  # noqa: D301 - \b keeps click from wrapping the example
    words = ctx.meta[options.ENGINE_ARGUMENTS]
    if not words:
        raise click.UsageError(f"there is no command: sparkc exec {bundle} --rank {rank} -- bash")
    with interruptible(), Ssh(Processes()) as ssh:
        manifest = deployed_manifest(ssh, bundle, inventory)
        chosen = tuple(entry for entry in manifest.ranks if entry.rank == rank)
        if not chosen:
            raise click.UsageError(f"{manifest.name} has ranks 0 to {len(manifest.ranks) - 1}")
        group = connect(ssh, replace(manifest, ranks=chosen))
        if rank in group.unreached:
            raise group.unreached[rank]
        member = group.members[0]
        docker, container = _container(member)
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        return member.connection.foreground(
            command_line(docker, container, words, terminal=terminal), terminal=terminal
        )


def command_line(docker: str, container: str, words: Sequence[str], *, terminal: bool) -> str:
    """Return the command line for the node's login shell, whichever that is.

    What is to be run is in Base64, which no shell takes for anything but text; bash gets it back.
    """
    scrubbed = [word for name in _SCRUBBED for word in ("-u", name)]
    argv = ["exec", "env", *scrubbed, docker, "exec", "-it" if terminal else "-i", container, *words]
    encoded = base64.b64encode(shlex.join(argv).encode()).decode()
    return f"bash --norc --noprofile -c 'eval \"$(echo {encoded} | base64 -d)\"'"


def _container(member: Member) -> tuple[str, str]:
    """Return where the node's docker is, and the id of the rank's running container."""
    reply = member.connection.run(node_script("container", BUNDLE=member.manifest.name, RANK=str(member.number)))
    said = reply.sections.get("container", "")
    words = said.split()
    if reply.code == 0 and len(words) == 2 and words[1] == "running":
        return reply.sections["docker"].strip(), words[0]
    name = member.manifest.name
    if reply.code == 10:
        what = "there is no docker on the node"
    elif reply.code:
        what = "Docker does not answer"
    else:
        state = f"is {words[1]}" if len(words) == 2 else "does not exist"
        what = f"the container of rank {member.number} of {name} {state}"
    raise SparkcError(
        what, host=member.node, output=last_lines(said) if reply.code else None, hint=f"sparkc status {name}"
    )
