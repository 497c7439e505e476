"""A node's Docker Engine: its life, its images and its containers, through its API."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .docker_api import call
from .image import Image
from .stub_image import TAG
from .system import LabError, wait_until

if TYPE_CHECKING:
    from .node import Node

BYSTANDER = "bystander"


class DockerEngine:
    """The engine of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def api(self, method: str, url: str, body: Any = None) -> Any:
        """Call the engine's API."""
        return call(self._node.root / "run/docker.sock", method, url, body)

    # Its life

    def alive(self) -> bool:
        """Tell whether the engine answers."""
        try:
            self.api("GET", "/_ping")
        except (OSError, LabError):
            return False
        return True

    def wait(self) -> None:
        """Wait until the engine answers."""
        try:
            wait_until(self.alive, f"the Docker Engine of {self._node.name}", 60)
        except LabError as error:
            log = (self._node.folder / "log/dockerd.log").read_text(encoding="utf-8", errors="replace")
            raise LabError(f"{error}: {log.strip()[-800:]}") from None

    def start(self) -> None:
        """Start the engine after :meth:`stop`, and wait until it answers."""
        self._node.run(["/lab/node/bin/start-dockerd"])
        self.wait()

    def stop(self, kill: bool = False) -> None:
        """Stop the engine, and its containers with it, as ``systemctl stop docker`` does.

        With ``kill`` it has no time to stop them: they run on, and end when the engine starts again.
        """
        # The engine and its containerd, which ends when the engine does.
        pids = [self._pid(path) for path in ("run/docker.pid", "run/docker/containerd/containerd.pid")]
        self._node.run(["kill", "-KILL" if kill else "-TERM", str(pids[0])])
        paths = [self._node.root / f"proc/{pid}" for pid in pids]
        wait_until(lambda: not any(path.exists() for path in paths), "the Docker Engine to end", 60)

    def pause(self) -> None:
        """Stop the engine's process for a while: its socket is there, and nothing answers."""
        self._node.run(["kill", "-STOP", str(self._pid("run/docker.pid"))])

    def resume(self) -> None:
        """Let a paused engine go on."""
        self._node.run(["kill", "-CONT", str(self._pid("run/docker.pid"))])

    def running(self) -> bool:
        """Tell whether the engine's process is there, paused or not."""
        with suppress(LabError):
            return (self._node.root / f"proc/{self._pid('run/docker.pid')}").exists()
        return False

    def _pid(self, path: str) -> int:
        try:
            return int((self._node.root / path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LabError(f"the Docker Engine of {self._node.name} is not up") from None

    # Images

    def load(self, archive: bytes) -> None:
        """Load an image archive, as ``docker load`` does."""
        self.api("POST", "/images/load?quiet=1", archive)

    def load_image(self, image: Image) -> None:
        """Load an image made from parts: ``load_image(stub("other:1", architecture="arm64"))``."""
        self.load(image.archive())

    def remove_image(self, name: str) -> None:
        """Remove an image by name or id, if it is there."""
        with suppress(LabError):
            self.api("DELETE", f"/images/{name}?force=1")

    def images(self) -> dict[str, str]:
        """Return the id of each image by name ("repository:tag")."""
        listed = self.api("GET", "/images/json")
        return {name: str(image["Id"]) for image in listed for name in image["RepoTags"] or ()}

    def references(self) -> list[str]:
        """Return all by which images are known: names, digests ("repository@sha256:…"), ids of those without a name."""
        found = []
        for image in self.api("GET", "/images/json"):
            names = [
                name for name in (*(image["RepoTags"] or ()), *(image["RepoDigests"] or ())) if "<none>" not in name
            ]
            found += names or [str(image["Id"])]
        return found

    # Containers

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return all containers by name, as ``docker inspect`` shows them."""
        listed = self.api("GET", "/containers/json?all=1")
        return {entry["Names"][0].lstrip("/"): self.inspect(entry["Id"]) for entry in listed}

    def inspect(self, name: str) -> dict[str, Any]:
        """Return a container as ``docker inspect`` shows it; LabError when there is none."""
        answer = self.api("GET", f"/containers/{name}/json")
        assert isinstance(answer, dict)
        return answer

    def run(self, name: str, image: str, command: list[str], **options: Any) -> str:
        """Start a container without ports, as ``docker run -d`` does, and return its id.

        ``options`` are keys of the API: ``Labels={…}``, ``HostConfig={…}``.
        """
        body = {"Image": image, "Cmd": command, **options}
        made = self.api("POST", f"/containers/create?name={name}", body)
        self.api("POST", f"/containers/{made['Id']}/start")
        return str(made["Id"])

    def remove(self, name: str) -> None:
        """Kill and remove a container, if it is there."""
        with suppress(LabError):
            self.api("DELETE", f"/containers/{name}?force=1&v=1")

    def kill_container(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a container's first process."""
        self.api("POST", f"/containers/{name}/kill?signal={number}")

    def paused(self) -> bool:
        """Tell whether the engine's process was stopped by :meth:`pause`."""
        status = (self._node.root / f"proc/{self._pid('run/docker.pid')}/status").read_text(encoding="utf-8")
        return "State:\tT" in status

    # The bystander: a container of somebody else, which nothing of ours may touch

    def start_bystander(self) -> str:
        """Start the bystander unless it runs, and return its id."""
        with suppress(LabError):
            known = self.inspect(BYSTANDER)
            if known["State"]["Running"]:
                return str(known["Id"])
        self.remove(BYSTANDER)
        return self.run(BYSTANDER, TAG, ["sleep", "infinity"], HostConfig={"Init": True})
