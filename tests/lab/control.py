"""The control machine: this machine as it is, with a network and a home of its own.

OpenSSH finds ``~/.ssh`` through the password file and not through ``HOME``, so the programs get a mount namespace in
which root's entry names the lab's folder. Nothing of it stays when they end.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .login import USER, make_key
from .network import CONTROL
from .state import BASE, Facts
from .system import end_all, in_network

# Namespaces of labs are mounted in the state folder: a program that outlives its lab must not keep them alive.
_ENTER = """
mount --bind "$1" /etc/passwd
for namespace in "$2"/*/netns/*; do umount --lazy "$namespace" 2>/dev/null; done
shift 2
exec "$@"
"""


class Control:
    """Runs programs on the control machine of a lab."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.home = facts.folder / "control"
        self.key = self.home / ".ssh/id_ed25519"
        self._passwd = self.home / "passwd"

    def prepare(self) -> None:
        """Write the home folder: a key, and root's entry that names it."""
        (self.home / ".ssh").mkdir(mode=0o700)
        make_key(self.key, f"control@{self._facts.name}")
        lines = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
        root = [line for line in lines if line.startswith("root:")]
        others = [line for line in lines if not line.startswith("root:")]
        shell = root[0].rsplit(":", 1)[1] if root else "/bin/sh"
        entries = [f"root:x:0:0:root:{self.home}:{shell}", *others]
        self._passwd.write_text("\n".join(entries) + "\n", encoding="utf-8")

    def write_ssh(self) -> None:
        """Write ``known_hosts`` and ``config`` for all nodes, in place of what is there."""
        known, config = [], []
        for index, name in enumerate(self._facts.names):
            public = (self._facts.folder / "nodes" / name / "ssh_host_ed25519_key.pub").read_text(encoding="utf-8")
            address, address6 = self._facts.address(index, "mgmt"), self._facts.address6(index)
            known.append(f"{name},{address},{address6} {' '.join(public.split()[:2])}\n")
            config.append(f"Host {name}\n  HostName {address}\n")
        config.append(f"Host spark-* 10.77.*\n  User {USER}\n")
        for name, lines in (("known_hosts", known), ("config", config)):
            path = self.home / ".ssh" / name
            path.write_text("".join(lines), encoding="utf-8")
            path.chmod(0o600)

    def popen(
        self,
        argv: Sequence[str],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start a program on the control machine; the returned id is the program's own, so signals reach it.

        ``env`` adds to the environment of this program, which the started one gets without the ssh agent.
        """
        whole = {key: value for key, value in os.environ.items() if key != "SSH_AUTH_SOCK"}
        whole |= {"HOME": str(self.home), **(env or {})}
        network = f"--net={self._facts.network(CONTROL)}"
        enter = ["nsenter", network, "unshare", "--mount", "--propagation", "private"]
        enter += ["--", "/bin/sh", "-c", _ENTER, "control"]
        return subprocess.Popen([*enter, str(self._passwd), str(BASE), *argv], cwd=cwd, env=whole, **options)

    def run(
        self,
        argv: Sequence[str],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on the control machine to its end, captured as text, without a terminal."""
        pipes = {"stdin": subprocess.PIPE if stdin is not None else subprocess.DEVNULL, "text": True}
        with self.popen(argv, cwd, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **pipes) as process:
            try:
                out, err = process.communicate(stdin, timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(list(argv), process.returncode, out, err)

    def ssh(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on a node over ssh, as a user at the control machine would."""
        return self.run(["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", name, command])

    def end_programs(self) -> None:
        """End all programs of the control machine, such as an ssh master in the background."""
        end_all(lambda: in_network(self._facts.network(CONTROL)))
