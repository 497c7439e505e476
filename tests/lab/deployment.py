"""The demo bundle on a lab through the real command line, and what then really is on the nodes."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .cluster import Lab
from .docker_engine import BYSTANDER
from .node import Node
from .project import RECIPE
from .stub_image import TAG
from .system import wait_until

SPARKC = str(Path(sys.executable).with_name("sparkc"))
BASE = ".local/share/sparkc/demo"
_MODEL = """\
hub=$HOME/.cache/huggingface/hub/models--lab--tiny
mkdir -p "$hub/refs" "$hub/snapshots/abc" && printf abc >"$hub/refs/main"
printf '{}' >"$hub/snapshots/abc/config.json" && printf x >"$hub/snapshots/abc/model.safetensors"
"""


class Deployment:
    """The demo recipe in a project of its own, for the first ``count`` nodes of a lab."""

    def __init__(self, lab: Lab, folder: Path, count: int = 2) -> None:
        self.lab = lab
        self.nodes = lab.nodes[:count]
        self.folder = lab.project(folder, count)
        for node in self.nodes:
            node.run(["sh", "-c", _MODEL], user="spark")
        self.bystanders = [node.docker.inspect(BYSTANDER)["Id"] for node in self.nodes]
        self.version = 0
        self.old: dict[str, Any] = {}
        self.new: dict[str, Any] = {}

    def renew(self, env: Mapping[str, str] | None = None, more: str = "") -> None:
        """Make sure that a bundle serves (``old``), and compile another one (``new``) with ``env``."""
        if not self.old or not self.serves(self.old):
            self.old = self.compile(self._next_version())
            done = self.deploy()
            assert done.returncode == 0, done.stderr
        self.new = self.compile(self._next_version() | dict(env or {}), more)

    def deploy_new(self) -> subprocess.CompletedProcess[str]:
        """Deploy ``new``, make sure that it serves and that nothing else is left, and take it as the next ``old``."""
        done = self.deploy()
        assert done.returncode == 0, done.stderr
        self.check_serving(self.new)
        assert not [name for node in self.nodes for name in self.releases(node) if name.startswith(".")]
        self.old = self.new
        return done

    def check_serving(self, manifest: Mapping[str, Any]) -> None:
        """Make sure that a bundle serves and is current, no lock is left, and no foreign container was hurt."""
        assert self.serves(manifest)
        assert self.current() == [manifest["group_digest"]] * len(self.nodes)
        assert not self.locked()
        self.check_bystanders()

    def slow_docker(self, seconds: float) -> None:
        """Let every call of docker on the nodes take longer, so that phases last."""
        for node in self.nodes:
            node.slow_docker(seconds)

    def _next_version(self) -> dict[str, str]:
        self.version += 1
        return {"VERSION": str(self.version)}

    # The bundle

    def compile(self, env: Mapping[str, str] | None = None, more: str = "", image: str = TAG) -> dict[str, Any]:
        """Write the recipe with an environment and more lines, compile it, and return its bundle.json."""
        recipe = RECIPE.format(image=image, tensor=len(self.nodes)) + more
        if env:
            recipe += f"env: {json.dumps(dict(env), ensure_ascii=False)}\n"
        (self.folder / "recipes/demo.yaml").write_text(recipe, encoding="utf-8")
        done = self.sparkc("compile", "demo")
        assert done.returncode == 0, done.stderr
        return self.manifest()

    def manifest(self) -> dict[str, Any]:
        """Return the compiled bundle.json."""
        data = json.loads((self.folder / "out/demo/bundle.json").read_text("utf-8"))
        assert isinstance(data, dict)
        return data

    # The command line

    def sparkc(
        self, *arguments: str, env: Mapping[str, str] | None = None, before: Sequence[str] = (), timeout: float = 90
    ) -> subprocess.CompletedProcess[str]:
        """Run sparkc on the control machine in the project; ``before`` stands before it (faketime)."""
        return self.lab.run([*before, SPARKC, *arguments], cwd=self.folder, env=env, timeout=timeout)

    def deploy(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Deploy without a question."""
        return self.sparkc("deploy", "demo", "--yes", *arguments, **options)

    def begin(self, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """Start sparkc; what it prints on both streams comes line by line."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return self.lab.control([*before, SPARKC, *arguments], cwd=self.folder, **pipes)

    def deploy_until(self, begin: str, before: Sequence[str] = ()) -> tuple[subprocess.Popen[str], list[str]]:
        """Start a deploy and return it, with the lines it printed, when it prints one that begins so."""
        process = self.begin("deploy", "demo", "--yes", before=before)
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith(begin):
                return process, said
        raise AssertionError(f"no line {begin!r}: {''.join(said)}")

    def finish(self, process: subprocess.Popen[str], said: Sequence[str] = ()) -> tuple[int, str]:
        """Return the exit code of a deploy and all that it printed after ``said``; docker is quick again."""
        self.slow_docker(0)
        assert process.stdout is not None
        printed = "".join([*said, *process.stdout])
        process.stdout.close()
        return process.wait(30), printed

    # What is on the nodes

    def digests(self) -> list[str | None]:
        """Return by node the rank digest of the container that runs, None where none does."""
        return [self._digest(node) for node in self.nodes]

    def containers(self) -> list[str | None]:
        """Return by node the id of the bundle's container, None where there is none."""
        return [node.docker.containers().get("demo", {}).get("Id") for node in self.nodes]

    def serves(self, manifest: Mapping[str, Any]) -> bool:
        """Return whether exactly this bundle runs on all nodes and completes a token."""
        return self.digests() == [rank["digest"] for rank in manifest["ranks"]] and self._completes()

    def current(self) -> list[str | None]:
        """Return by node the digest of the current release."""
        links = [node.run(["readlink", f"{node.home}/{BASE}/current"], check=False).stdout for node in self.nodes]
        return [link.strip().rpartition("/")[2] or None for link in links]

    def releases(self, node: Node) -> list[str]:
        """Return what lies under a node's releases, hidden files included."""
        return sorted(node.run(["ls", "-A", f"{node.home}/{BASE}/releases"], check=False).stdout.split())

    def locked(self) -> bool:
        """Return whether the lock is there."""
        node = self.nodes[0]
        return node.run(["test", "-d", f"{node.home}/{BASE}/lock"], check=False).returncode == 0

    def check_bystanders(self) -> None:
        """Make sure that what belongs to somebody else was left alone."""
        found = [node.docker.inspect(BYSTANDER) for node in self.nodes]
        assert [container["Id"] for container in found] == self.bystanders
        assert all(container["State"]["Running"] for container in found)

    def wait_unlocked(self) -> None:
        """Wait until the lock is gone."""
        wait_until(lambda: not self.locked(), "the lock to be released", 10)

    def file(self, node: Node, path: str) -> Path:
        """Return a file of the bundle's folder on a node, as this program can open it."""
        return node.root / node.home.lstrip("/") / BASE / path

    def _completes(self) -> bool:
        body = json.dumps({"model": "lab/tiny", "prompt": "x", "max_tokens": 1}).encode()
        url = f"http://{self.nodes[0].address()}:8000/v1/completions"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _digest(self, node: Node) -> str | None:
        container = node.docker.containers().get("demo")
        if container is None or not container["State"]["Running"]:
            return None
        digest = container["Config"]["Labels"]["sparkc.rank-digest"]
        assert isinstance(digest, str)
        return digest
