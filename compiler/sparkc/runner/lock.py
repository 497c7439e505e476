"""The lock of a bundle: a folder on rank 0's node, held by a script there for as long as this process lives.

All its times are that node's own: a control machine whose clock is off neither loses nor steals a lock. When sparkc
dies, the script's input ends, and it marks the lock as abandoned; when the control machine is cut off, beats stop.
"""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from sparkc.errors import SparkcError
from sparkc.runner.facts import Holder
from sparkc.runner.layout import Layout
from sparkc.runner.node_script import Script, node_script
from sparkc.runner.parse_releases import parse_lock
from sparkc.runner.processes import end
from sparkc.runner.progress import Progress
from sparkc.runner.ssh import Connection, last_lines

_BEAT_SECONDS = 10.0
_PATIENCE_SECONDS = 45
_RELEASE_SECONDS = 10.0


class Held:
    """A lock while it is held."""

    def __init__(self, keeper: subprocess.Popen[bytes], node: str) -> None:
        self._keeper = keeper
        self._node = node

    def check(self) -> None:
        """Make sure that the lock is still ours, before something is done that must not be done twice at once.

        Raises:
            SparkcError: its keeper on the node has ended.
        """
        if self._keeper.poll() is not None:
            raise SparkcError(
                "the lock is lost: what kept it on the node has ended; nothing that runs was touched",
                host=self._node,
                hint="type the same command again, which takes the lock over",
            )


@contextmanager
def held(connection: Connection, layout: Layout, doing: str, seconds: float, progress: Progress) -> Iterator[Held]:
    """Hold the bundle's lock within the block; ``seconds`` is how long it counts at most, should all else fail.

    A lock whose holder is gone is taken over, which ``progress`` says.

    Raises:
        SparkcError: somebody else holds it (named), or it cannot be made.
    """
    script = node_script(
        "lock",
        BASE=layout.base,
        WHO=f"{getpass.getuser()}@{socket.gethostname()}",
        PID=str(os.getpid()),
        DOING=doing,
        BUDGET=str(int(seconds)),
        PATIENCE=str(_PATIENCE_SECONDS),
    )
    keeper = connection.keep(script)
    stop = Event()
    try:
        _acquire(keeper, script, connection, layout, progress)
        # A daemon: an interpreter that dies must not wait for a beat.
        Thread(target=_beat, args=(keeper, stop), daemon=True).start()
        yield Held(keeper, connection.target.node)
    finally:
        stop.set()
        _release(keeper, connection, layout, progress)


def describe(holder: Holder, clock: float) -> str:
    """Return who holds a lock, for what and since when; ``clock`` is the node's."""
    minutes = max(0, int(clock - holder.since)) // 60
    since = f"{minutes} min ago" if minutes else "just now"
    return f"{holder.who} (process {holder.pid}), {holder.doing}, since {since}"


def _acquire(
    keeper: subprocess.Popen[bytes], script: Script, connection: Connection, layout: Layout, progress: Progress
) -> None:
    """Read what the keeper says until it has the lock."""
    assert keeper.stdout is not None  # noqa: S101 - keep() makes pipes
    assert keeper.stderr is not None  # noqa: S101
    section = ""
    lines: dict[str, list[str]] = {}
    for raw in keeper.stdout:
        line = raw.decode(errors="replace").removesuffix("\n")
        if line.startswith(f"{script.mark} "):
            section = line.removeprefix(f"{script.mark} ")
            if section == "got":
                if "stale" in lines:
                    gone = parse_lock("\n".join(lines["stale"]), 0)
                    progress.say(f"the lock of {gone.who} ({gone.doing}) is taken over: that sparkc is gone")
                return
        else:
            lines.setdefault(section, []).append(line)
    login = connection.target.login
    if "held" in lines:
        holder = parse_lock("\n".join(lines["held"]), 0)
        raise SparkcError(
            f"{layout.bundle} is locked by {describe(holder, float(lines['now'][0]))}",
            host=connection.target.node,
            hint=f"wait for it to end; if it is certainly dead: sparkc lock release {layout.bundle}",
        )
    said = "\n".join([*lines.get("begin", ()), keeper.stderr.read().decode(errors="replace")])
    raise SparkcError(
        f"the lock cannot be made in {layout.base}",
        host=connection.target.node,
        output=last_lines(said),
        hint=f"look at the node: ssh {login} ls -la {layout.base}",
    )


def _beat(keeper: subprocess.Popen[bytes], stop: Event) -> None:
    while not stop.wait(_BEAT_SECONDS):
        if not _tell(keeper, "beat"):
            return


def _release(keeper: subprocess.Popen[bytes], connection: Connection, layout: Layout, progress: Progress) -> None:
    ended = None
    # One that did not get the lock has ended, or does so now.
    _tell(keeper, "release")
    with suppress(subprocess.TimeoutExpired):
        ended = keeper.wait(_RELEASE_SECONDS)
    end(keeper)
    if ended not in (0, 11, 10):
        node = connection.target.node
        progress.say(
            f"{node}: the lock could not be released; it counts as abandoned once the node notices, and the next "
            f"command takes it over (or: sparkc lock release {layout.bundle})"
        )


def _tell(keeper: subprocess.Popen[bytes], word: str) -> bool:
    assert keeper.stdin is not None  # noqa: S101 - keep() makes pipes
    try:
        keeper.stdin.write(f"{word}\n".encode())
        keeper.stdin.flush()
    except (OSError, ValueError):
        return False
    return True
