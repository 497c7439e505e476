"""One node of a lab: a machine's namespaces, with its own sshd and Docker Engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import infiniband, network
from .docker_engine import DockerEngine
from .login import USER, Login, write_server
from .node_log import NodeLog
from .requirements import compose_plugin, program
from .state import HCAS, INTERFACES, LINKS, Facts
from .system import SYSTEM_ENV, SYSTEM_PATH, LabError, first_process, wait_until

_FILES = Path(__file__).parent / "node_files"

_COMPOSE = """\
#!/bin/sh
case "$*" in
  docker-cli-plugin-metadata)
    echo '{{"SchemaVersion": "0.1.0", "Vendor": "Docker Inc.", "Version": "v{version}"}}' ;;
  *version*--short) echo {version} ;;
  *version*) echo "Docker Compose version v{version}" ;;
  *) exec /lab/docker-compose "$@" ;;
esac
"""


class Node:
    """A node, up or to be started. ``index`` counts from 0: spark-1 has index 0."""

    def __init__(self, facts: Facts, index: int) -> None:
        self.facts = facts
        self.index = index
        self.name = facts.names[index]
        self.folder = facts.folder / "nodes" / self.name
        self.disk = facts.data / self.name
        self.infiniband = self.folder / "infiniband"  # files to edit; they are the node's /sys/class/infiniband
        self.docker = DockerEngine(self)
        self.log = NodeLog(self.folder / "log")
        self._pid: int | None = None

    # Start

    def prepare(self, public_key: Path) -> None:
        """Write all files that the node starts from."""
        for name in ("layer", "infiniband", "bin", "log/docker", "log/commands"):
            (self.folder / name).mkdir(parents=True)
        for name in ("log/docker", "log/commands"):
            (self.folder / name).chmod(0o1777)
        for name, mode in (("docker", 0o711), ("home", 0o755), ("tmp", 0o1777)):
            (self.disk / name).mkdir(parents=True)
            (self.disk / name).chmod(mode)
        for source in _FILES.iterdir():
            target = self.folder / ("bin" if source.suffix != ".sh" else ".") / source.name
            shutil.copy(source, target)
            target.chmod(0o755)
        runtime = self.folder / "bin/lab-runtime"
        interpreter = getattr(sys, "_base_executable", sys.executable)
        runtime.write_text(runtime.read_text(encoding="utf-8").replace("@PYTHON@", interpreter), encoding="utf-8")
        (self.folder / "cgroup").write_text(f"/sparkc-lab/{self.facts.name}/{self.name}\n", encoding="utf-8")
        self.slow_docker(0)
        Login().write(self.folder)
        write_server(self.folder, self.name, public_key)
        infiniband.write(self.infiniband, self.facts, self.index)

    def start(self) -> None:
        """Start the node's process 1, which builds the rest."""
        docker = os.path.realpath(program("docker") or "docker")
        arguments = (self.folder / "init.sh", self.folder, self.disk, self.name, compose_plugin(), docker)
        inside = ("unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--", "/bin/sh", *map(str, arguments))
        with (self.folder / "log/init.log").open("wb") as log:
            # In a session of its own: Ctrl-C at the lab's terminal must not reach a node.
            subprocess.run(
                ["setsid", "--fork", "nsenter", f"--net={self.facts.network(self.name)}", *inside],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=SYSTEM_ENV,
                cwd="/",
                check=True,
            )

    def wait_started(self) -> None:
        """Wait until sshd and the Docker Engine have been started (the engine may not answer yet)."""
        try:
            wait_until(self._ended_starting, f"{self.name} to start", 30)
        except LabError as error:
            words = (self.folder / "log/init.log").read_text(encoding="utf-8", errors="replace")
            raise LabError(f"{error}: {words.strip()[-500:]}") from None

    def _ended_starting(self) -> bool:
        if (self.folder / "failed").exists():
            raise LabError(f"{self.name} does not start")
        return (self.folder / "started").exists()

    # What it is

    @property
    def pid(self) -> int:
        """Process 1 of the node, by its id out here; LabError when the node is not up."""
        if self._pid is None:
            self._pid = first_process(self.facts.network(self.name))
        if self._pid is None or not Path(f"/proc/{self._pid}").exists():
            self._pid = None
            raise LabError(f"{self.name} is not up")
        return self._pid

    @property
    def root(self) -> Path:
        """The node's root folder, as this program can open it: ``node.root / "home/spark/x"``.

        Absolute symbolic links in it lead to this machine's files instead.
        """
        return Path(f"/proc/{self.pid}/root")

    @property
    def home(self) -> str:
        """The login user's home folder, as the node names it."""
        return (self.folder / "home").read_text(encoding="utf-8").removesuffix("\n")

    def address(self, link: str = "mgmt") -> str:
        """Return the node's IPv4 address on "mgmt", "rail-a" or "rail-b"."""
        return self.facts.address(self.index, link)

    # Programs on it

    def enter(self, argv: Sequence[str], user: str = "root") -> list[str]:
        """Return the argv that runs ``argv`` on the node, without ssh, as ``user``."""
        as_user = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        home = "/root" if user == "root" else self.home
        return [
            *("nsenter", "--target", str(self.pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--"),
            *("env", "-i", f"PATH={SYSTEM_PATH}", f"HOME={home}", "LANG=C.UTF-8", *as_user, *argv),
        ]

    def run(
        self, argv: Sequence[str], user: str = "root", check: bool = True, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on the node, captured as text; LabError when it fails and ``check`` is set."""
        options = {"capture_output": True, "text": True, "timeout": 120, **options}
        done = subprocess.run(self.enter(argv, user), check=False, **options)
        if check and done.returncode:
            raise LabError(f"{self.name}: {' '.join(argv)} failed ({done.returncode}): {done.stderr or done.stdout}")
        return done

    def processes(self) -> list[str]:
        """Return the command lines of all processes of the node, of its containers too."""
        return self.run(["ps", "-ww", "-eo", "args="]).stdout.splitlines()

    # Its user and its programs' behaviour

    def set_login(self, home: str = "/home/spark", shell: str = "/bin/bash", bashrc: str = "") -> None:
        """Give the login user another home (below /home; spaces are fine), shell or ``.bashrc``."""
        Login(home, shell, bashrc).write(self.folder)
        self.run(["sh", "/lab/node/login.sh"])

    def slow_docker(self, seconds: float) -> None:
        """Let each call of the docker program wait ``seconds`` first; 0 ends that."""
        (self.folder / "docker-delay").write_text(f"{seconds:g}\n", encoding="utf-8")

    def set_compose(self, version: str | None) -> None:
        """Let ``docker compose`` say that it is ``version``; "" removes it, None brings back what is installed."""
        script = _COMPOSE.format(version=version) if version else ""
        (self.folder / "bin/docker-compose").write_text(script, encoding="utf-8")
        (self.folder / "bin/docker-compose").chmod(0o755)
        program = "/lab/docker-compose" if version is None else "/lab/node/bin/docker-compose"
        self.run(["ln", "-sf", program, "/usr/local/lib/docker/cli-plugins/docker-compose"])

    def stub_settings(self, **settings: str) -> None:
        """Set ``STUB_…`` switches for engines that start on this node from now on; none takes them away.

        They stand in a file of the login user's Hugging Face cache, so that the bundle stays as it is.
        """
        folder = f"{self.home}/.cache/huggingface"
        path = self.root / folder.lstrip("/") / "stub.env"
        path.unlink(missing_ok=True)
        if settings:
            self.run(["mkdir", "-p", folder], user=USER)
            path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")

    def fill(self, path: str, size: str = "1m") -> None:
        """Mount a tmpfs of ``size`` over ``path``, owned by the login user: a disk that is soon full."""
        self.run(["mkdir", "-p", path], user=USER)
        self.run(["mount", "-t", "tmpfs", "-o", f"size={size},uid=1000,gid=1000,mode=755", "sparkc-lab-full", path])

    def unfill(self, path: str) -> None:
        """Take away what :meth:`fill` mounted."""
        self.run(["umount", "--lazy", path])

    # Its cables

    def cut(self, link: str = "all") -> None:
        """Pull the cables of "mgmt", "rail-a", "rail-b" or "all" links."""
        self._connect(link, up=False)

    def heal(self, link: str = "all") -> None:
        """Plug the cables in again."""
        self._connect(link, up=True)

    def _connect(self, link: str, up: bool) -> None:
        for each in links(link):
            network.connect(self.facts, self.name, each, up)
            if each in HCAS and (self.infiniband / HCAS[each]).exists():
                infiniband.set_state(self.infiniband, HCAS[each], active=up)

    def shape(self, link: str, rate: str | None) -> None:
        """Limit a link, or "all", to ``rate`` ("100mbit") in both directions; None ends that."""
        for each in links(link):
            network.shape(self.facts, self.name, each, rate)

    def set_mtu(self, link: str, mtu: int) -> None:
        """Set the MTU of an interface."""
        for each in links(link):
            network.set_mtu(self.facts, self.name, each, mtu)

    def set_address(self, link: str, address: str) -> None:
        """Give an interface another IPv4 address than the inventory says; a rail's GID table follows."""
        for each in links(link):
            network.set_address(self.facts, self.name, each, address)
            if each in HCAS:
                gids = infiniband.table(network.mac(self.index, each), address)
                infiniband.set_gids(self.infiniband, HCAS[each], INTERFACES[each], gids)

    def heal_all(self) -> None:
        """Bring cables, limits, addresses, MTU and RDMA devices back to how ``up`` made them."""
        infiniband.write(self.infiniband, self.facts, self.index)
        self.heal()
        self.shape("all", None)
        self.set_mtu("mgmt", 1500)
        for link in LINKS:
            if f"inet {self.address(link)}/" not in self.run(["ip", "-4", "addr", "show", INTERFACES[link]]).stdout:
                self.set_address(link, self.address(link))
        for rail in HCAS:
            self.set_mtu(rail, self.facts.mtu)


def links(link: str) -> tuple[str, ...]:
    """Return the links that "all" or one link's name stands for; LabError for another word."""
    if link != "all" and link not in INTERFACES:
        raise LabError(f"no link {link!r}; there are: {', '.join(LINKS)}, all")
    return LINKS if link == "all" else (link,)
