"""A registry on the control machine, for images with repository digests."""

from __future__ import annotations

import socket
import subprocess
from types import TracebackType
from typing import Self

from .control import Control
from .node import Node
from .requirements import program
from .state import Facts
from .system import LabError, wait_until

_CONFIG = """\
version: 0.1
log: {{level: warn}}
storage:
  filesystem: {{rootdirectory: {folder}}}
  delete: {{enabled: true}}
http: {{addr: "{address}"}}
"""


class Registry:
    """Debian's docker-registry, while the ``with`` block lasts, at ``address`` (host:port) for all nodes."""

    def __init__(self, facts: Facts, machine: Control) -> None:
        self.address = f"{facts.control_address}:5000"
        self._machine = machine
        self._folder = facts.data / "registry"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        server = program("docker-registry")
        if server is None:
            raise LabError("no registry; type: apt-get install -y --no-install-recommends docker-registry")
        self._folder.mkdir(exist_ok=True)
        config = self._folder / "config.yml"
        config.write_text(_CONFIG.format(folder=self._folder / "store", address=self.address), encoding="utf-8")
        quiet = subprocess.DEVNULL
        argv = [server, "serve", str(config)]
        self._process = self._machine.popen(argv, cwd="/", stdin=quiet, stdout=quiet, stderr=quiet)
        wait_until(self._answers, "the registry", 10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def push(self, node: Node, image: str, name: str) -> str:
        """Push an image of a node as ``name`` ("model:1") and return its reference with the digest.

        The node has the image by that reference from then on; others :meth:`pull` it.
        """
        reference = f"{self.address}/{name}"
        node.run(["/lab/docker", "tag", image, reference])
        node.run(["/lab/docker", "push", "--quiet", reference])
        digests = node.docker.api("GET", f"/images/{reference}/json")["RepoDigests"]
        return next(str(digest) for digest in digests if digest.startswith(self.address))

    def pull(self, node: Node, reference: str) -> None:
        """Pull an image onto a node."""
        node.run(["/lab/docker", "pull", "--quiet", reference])

    def _answers(self) -> bool:
        try:
            host, _, port = self.address.partition(":")
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return False
        return True
