"""A node's connection for tests without a network: scripts run for real, in a bash on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from sparkc.errors import SparkcError
from sparkc.runner.node_script import parse_reply
from sparkc.runner.target import Target


class LocalConnection:
    """Runs scripts with a home of its own; programs in ``<home>/bin`` come first."""

    def __init__(self, home: Path, node: str = "spark-1") -> None:
        self.home = home
        self.target = Target(node, f"{node}.lan", "spark")
        (home / "bin").mkdir(parents=True, exist_ok=True)

    def program(self, name: str, text: str) -> None:
        """Put a program on the node."""
        path = self.home / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def run(self, script, *, timeout=60.0):
        done = subprocess.run(
            self._bash, check=False, input=script.text.encode(), env=self._env, capture_output=True, timeout=timeout
        )
        reply = parse_reply(script, done.stdout.decode())
        if reply is None:
            raise SparkcError("the connection was lost", host=self.target.node, output=done.stderr.decode())
        return reply

    def stream(self, script, on_line):
        with subprocess.Popen(self._bash, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._env) as process:
            process.stdin.write(script.text.encode())
            process.stdin.close()
            began = False
            for raw in process.stdout:
                line = raw.decode().removesuffix("\n")
                if line.startswith(f"{script.mark} end "):
                    return
                if line.startswith(f"{script.mark} "):
                    began = True
                elif began and not on_line(line):
                    process.kill()

    @property
    def _bash(self):
        return ["bash", "--norc", "--noprofile", "-s"]

    @property
    def _env(self):
        return {**os.environ, "HOME": str(self.home), "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}"}
