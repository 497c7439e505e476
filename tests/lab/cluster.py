"""A lab: its nodes, its control machine and its network, from ``up`` to ``down``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import cleanup, network, project, state, stub_image
from .control import Control
from .node import Node
from .registry import Registry
from .requirements import why_not
from .reset import reset
from .state import Facts
from .system import LabError

SSH_PORT = 22


class Lab:
    """A lab that is up. Made by :meth:`up` or :meth:`attach`."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.name = facts.name
        self.nodes = [Node(facts, index) for index in range(facts.count)]
        self.machine = Control(facts)

    # Life

    @classmethod
    def up(
        cls,
        name: str = "lab",
        nodes: int = 4,
        *,
        mtu: int = 9000,
        rate: str | None = None,
        without_image: Collection[str] = (),
    ) -> Lab:
        """Bring a lab up and prove that it works.

        ``rate`` limits the rails ("1gbit"); nodes named in ``without_image`` start without the stub image and
        bystander. What a crash left of the same lab is removed first. LabError when it is up already, or cannot be.
        """
        reason = why_not()
        if reason is not None:
            raise LabError(reason)
        if not 1 <= nodes <= 100:
            raise LabError(f"a lab has 1 to 100 nodes, not {nodes}")
        known = state.load(name)
        if known is not None and cleanup.is_up(known):
            raise LabError(f"lab {name} is up already, with {known.count} nodes; bring it down first")
        cleanup.down(name)
        # The login user reads files of the lab; a strict umask would hide them.
        mask = os.umask(0o022)
        try:
            lab = cls(state.claim(name, nodes, mtu))
            lab._build(rate, without_image)
        except BaseException:
            cleanup.down(name)
            raise
        finally:
            os.umask(mask)
        lab.facts = replace(lab.facts, ready=True)
        lab.facts.save()
        return lab

    @classmethod
    def attach(cls, name: str = "lab") -> Lab:
        """Return the lab ``name``, which is up; LabError when it is not."""
        facts = state.load(name)
        if facts is None or not cleanup.is_up(facts):
            raise LabError(f"lab {name} is not up")
        return cls(facts)

    def down(self) -> None:
        """Bring the lab down."""
        cleanup.down(self.name)

    def reset(self) -> None:
        """Bring all nodes, and the control machine's ssh files, back to how ``up`` left them."""
        self.machine.end_programs()
        self.machine.write_ssh()
        image = stub_image.stub()
        each(lambda node: reset(node, image), self.nodes)

    def _build(self, rate: str | None, without_image: Collection[str]) -> None:
        self.machine.prepare()
        network.create(self.facts)
        public = self.machine.key.with_suffix(".pub")
        for node in self.nodes:
            node.prepare(public)
            node.start()
        self.machine.write_ssh()
        archive = stub_image.stub().archive() if len(without_image) < len(self.nodes) else None
        each(lambda node: self._finish(node, None if node.name in without_image else archive), self.nodes)
        each(self._prove, self.nodes)
        if rate is not None:
            for node in self.nodes:
                node.shape("rail-a", rate)
                node.shape("rail-b", rate)

    def _finish(self, node: Node, archive: bytes | None) -> None:
        node.wait_started()
        node.docker.wait()
        if archive is not None:
            node.docker.load(archive)
            node.docker.start_bystander()
            project.make_caches(node)

    def _prove(self, node: Node) -> None:
        """Prove that the node reaches the next one over the first rail, and that ssh reaches the node."""
        peer = self.nodes[(node.index + 1) % len(self.nodes)].address("rail-a")
        node.run(["timeout", "5", "bash", "-c", f"exec 3<>/dev/tcp/{peer}/{SSH_PORT}"])
        done = self.machine.ssh(node.name, "docker compose version --short")
        if done.returncode:
            raise LabError(f"ssh {node.name} docker compose version: {done.stderr.strip() or done.stdout.strip()}")
        node.log.clear()

    # Its parts

    def __getitem__(self, name: str) -> Node:
        """Return a node by name."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise LabError(f"lab {self.name} has no node {name!r}; there are: {', '.join(self.facts.names)}")

    def inventory(self) -> str:
        """Return an inventory of all nodes for ``sparkc compile --inventory``."""
        return project.inventory(self.nodes)

    def project(self, folder: Path, nodes: int | None = None) -> Path:
        """Make a sparkc project in ``folder`` with the inventory of the first nodes (all) and a recipe for them."""
        return project.write_project(folder, self.nodes[:nodes])

    def registry(self) -> Registry:
        """Return a registry for a ``with`` block."""
        return Registry(self.facts, self.machine)

    # The control machine, in short

    def control(
        self,
        argv: Sequence[str],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Start a program on the control machine; see :meth:`lab.control.Control.popen`."""
        return self.machine.popen(argv, cwd, env, **options)

    def run(
        self,
        argv: Sequence[str],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on the control machine, captured; see :meth:`lab.control.Control.run`."""
        return self.machine.run(argv, cwd, env, **options)


def each(action: Callable[[Node], object], nodes: Iterable[Node]) -> None:
    """Do something on all nodes at once; the first failure is raised after all are done."""
    nodes = list(nodes)
    with ThreadPoolExecutor(len(nodes)) as pool:
        for outcome in [pool.submit(action, node) for node in nodes]:
            outcome.result()
