"""What is left of sparkc when it is done: nothing, neither here nor on the nodes. What belongs to others stays."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lab.deployment import BASE, Deployment
from lab.network import CONTROL
from lab.system import in_network, wait_until

pytestmark = pytest.mark.lab


def sockets():
    """The folders for ssh's sockets on this machine; other labs have theirs here, too, while their sparkc runs."""
    return set(Path("/tmp").glob("sparkc-*"))


def processes(node):
    """What runs on a node, without its kernel's and the tests' own."""
    lines = node.run(["ps", "-ww", "-eo", "args="]).stdout.splitlines()
    return Counter(line for line in lines if not line.startswith(("ps ", "[", "sshd: /")))


def networks(node):
    return {network["Name"] for network in node.docker.api("GET", "/networks")}


class Before:
    """The state of everything before a deploy."""

    def __init__(self, demo):
        self.demo = demo
        self.sockets = sockets()
        self.processes = [processes(node) for node in demo.nodes]
        self.networks = [networks(node) for node in demo.nodes]
        self.containers = [set(node.docker.containers()) for node in demo.nodes]

    def check(self):
        """Make sure that everything is as it was. What ended a moment ago may take another to be gone."""
        demo = self.demo
        new = sockets() - self.sockets
        wait_until(lambda: not any(path.exists() for path in new), f"{new} to be removed", 60, 0.1)
        wait_until(self._nothing_runs_here, "the control machine's processes to end", 5)
        wait_until(self._nodes_are_quiet, "the nodes' processes to end", 10)
        assert [networks(node) for node in demo.nodes] == self.networks
        assert [set(node.docker.containers()) for node in demo.nodes] == self.containers
        assert not demo.locked()
        demo.check_bystanders()

    def _nodes_are_quiet(self):
        return [processes(node) for node in self.demo.nodes] == self.processes

    def _nothing_runs_here(self):
        return not in_network(self.demo.lab.facts.network(CONTROL))


def test_nothing_is_left_after_down(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path)
    # A look at each node first: what sshd and Docker keep once they were used is not ours.
    demo.old = demo.compile()
    demo.sparkc("plan", "demo")
    before = Before(demo)

    demo.renew({"STUB_CRASH_AT_START": "1"})
    commands = [
        demo.sparkc(*words)
        for words in (
            ("plan", "demo"),
            ("deploy", "demo", "--yes"),  # fails, and goes back
            ("status", "demo", "--deep"),
            ("logs", "demo"),
            ("exec", "demo", "--", "true"),
            ("releases", "demo"),
            ("prune", "demo"),
            ("lock", "status", "demo"),
            ("doctor", "demo"),
        )
    ]
    assert [command.returncode for command in commands] == [0, 1, 0, 0, 0, 0, 0, 0, 0]
    demo.check_serving(demo.old)

    down = demo.sparkc("down", "demo")

    assert down.returncode == 0, down.stderr
    assert down.stdout == ("spark-1: demo stopped and removed\nspark-2: demo stopped and removed\ndemo is down\n")
    before.check()
    for node in demo.nodes:
        # What is kept: the releases, and two files that scripts hold while they work.
        assert set(node.run(["ls", "-A", f"/home/spark/{BASE}"]).stdout.split()) <= {
            *("current", "previous", "releases", ".lock-guard", ".start-lock")
        }
    assert demo.sparkc("down", "demo").stdout == "demo did not run\n"


def test_nothing_is_left_of_a_bundle_that_publishes_a_port(fresh_lab, tmp_path):
    """Its containers hang on a network of its own, which Compose made."""
    demo = Deployment(fresh_lab, tmp_path, 1)
    before = Before(demo)
    demo.compile()
    done = demo.sparkc("compile", "demo", "-p", "8000:8000")
    assert done.returncode == 0, done.stderr
    deployed = demo.deploy()
    assert deployed.returncode == 0, deployed.stderr
    assert networks(demo.nodes[0]) - before.networks[0] == {"demo_default"}

    down = demo.sparkc("down", "demo")

    assert down.returncode == 0, down.stderr
    before.check()


def test_a_container_by_our_name_that_is_not_ours_survives_down(fresh_lab, tmp_path):
    """A label that only begins with the bundle's name, and the bundle's name on a container without a label."""
    demo = Deployment(fresh_lab, tmp_path)
    demo.renew()
    made = [
        node.docker.run(f"theirs-{number}", "sparkc-lab/stub:1", ["sleep", "infinity"], Labels=labels)
        for number, (node, labels) in enumerate(
            zip(demo.nodes, ({"sparkc.bundle": "demo2"}, {"com.docker.compose.project": "demo"}), strict=True)
        )
    ]

    down = demo.sparkc("down", "demo")

    assert down.returncode == 0, down.stderr
    assert demo.containers() == [None, None]
    for number, node in enumerate(demo.nodes):
        kept = node.docker.inspect(f"theirs-{number}")
        assert kept["State"]["Running"]
        assert kept["Id"] == made[number]
    demo.check_bystanders()
