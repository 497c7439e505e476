"""What a node notes: connections and sessions of its sshd, the commands it was asked to run, calls of docker."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Call:
    """Something that was started on a node, and when (seconds since 1970; all nodes have one clock)."""

    time: float
    argv: tuple[str, ...]


@dataclass(frozen=True)
class SshLog:
    """What sshd did since the log was cleared.

    ``connections``: peer ports of the accepted log-ins, one per TCP connection (a ControlMaster is one).
    ``sessions``: what was started in them, in order: "command", "shell" or "subsystem 'sftp'".
    ``commands``: the text of each command, in order, as the client sent it.
    """

    connections: tuple[int, ...]
    sessions: tuple[str, ...]
    commands: tuple[str, ...]


class NodeLog:
    """The notes in a node's log folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def clear(self) -> None:
        """Forget all that was noted."""
        sshd = self._folder / "sshd.log"
        if sshd.exists():
            # sshd appends to it: it goes on at the new end.
            with sshd.open("r+b") as file:
                file.truncate(0)
        for kind in ("docker", "commands"):
            for path in (self._folder / kind).iterdir():
                path.unlink()

    def ssh(self) -> SshLog:
        """Return what sshd did."""
        text = (self._folder / "sshd.log").read_text(encoding="utf-8", errors="replace")
        return SshLog(
            tuple(int(port) for port in re.findall(r"^Accepted \S+ for \S+ from \S+ port (\d+)", text, re.MULTILINE)),
            tuple(re.findall(r"^Starting session: (.+?)(?: on \S+)? for \S+ from ", text, re.MULTILINE)),
            tuple(call.argv[0] for call in self._calls("commands")),
        )

    def docker(self) -> list[Call]:
        """Return the calls of the docker program in order; ``docker compose up`` is one, with compose's arguments."""
        return self._calls("docker")

    def _calls(self, kind: str) -> list[Call]:
        calls = []
        for path in (self._folder / kind).iterdir():
            seconds, _, rest = path.name.partition(".")
            words = path.read_text(encoding="utf-8", errors="surrogateescape").split("\0")
            argv = words[:-1] if kind == "docker" else words
            calls.append(Call(float(f"{seconds}.{rest.partition('.')[0]}"), tuple(argv)))
        return sorted(calls, key=lambda call: call.time)
