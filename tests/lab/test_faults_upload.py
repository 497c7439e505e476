"""What goes wrong during the upload: nothing that runs is touched, and nothing half-uploaded counts as a release."""

from __future__ import annotations

import os

import pytest

from lab.deployment import BASE, Deployment
from lab.system import wait_until

pytestmark = pytest.mark.lab

# Takes the slow link ten seconds, and no compression makes it smaller.
_SLOW = "1mbit"
_SIZE = 1 << 20


@pytest.fixture(scope="module")
def deployment(lab, tmp_path_factory):
    lab.reset()
    made = Deployment(lab, tmp_path_factory.mktemp("demo"))
    made.nodes[1].fill(f"{made.nodes[1].home}/.local/share/sparkc", "300m")
    folder = made.folder / "mods/big"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("#!/bin/sh\n", "utf-8")
    return made


@pytest.fixture
def demo(deployment):
    """The demo bundle, serving, with another one compiled that is big."""
    (deployment.folder / "mods/big/data").write_bytes(os.urandom(_SIZE))
    deployment.renew(more="mods: [big]\n")
    return deployment


def servers(node):
    """The processes of rsync on a node: two while it receives."""
    told = node.run(["ps", "-ww", "-eo", "pid=,args="]).stdout.splitlines()
    return [line.split()[0] for line in told if "rsync --server" in line]


def rsync_here(demo):
    """The rsync of the control machine that talks to the second node."""
    told = demo.lab.run(["ps", "-ww", "-eo", "pid=,args="]).stdout.splitlines()
    target = f"spark-2:{demo.nodes[1].home}/{BASE}/releases/.incoming"
    return [line.split()[0] for line in told if target in line and line.split()[1] == "rsync"]


def kill_here(demo):
    [pid, *_] = rsync_here(demo)
    demo.lab.run(["kill", "-KILL", pid])


def kill_there(demo):
    node = demo.nodes[1]
    node.run(["kill", "-KILL", *servers(node)])


def cut(demo):
    demo.nodes[1].cut("mgmt")


FAULTS = {
    kill_here: "the upload failed",
    kill_there: "the connection was lost during upload",
    cut: "the connection was lost during upload",
}


def test_an_upload_that_ends_half_way(demo):
    """Three deploys, of which none gets through; then one that does."""
    node = demo.nodes[1]
    before = demo.containers()
    for fault, what in FAULTS.items():
        code, said = deploy_with(demo, fault)
        assert code == 1, said
        assert f"spark-2: {what}; nothing that runs was touched" in said
        assert "help: " in said
        assert "Traceback" not in said
        assert demo.containers() == before
        assert demo.new["group_digest"] not in demo.releases(node)
        demo.check_serving(demo.old)
    assert "spark-2: uploaded" in demo.deploy_new().stderr


def deploy_with(demo, fault):
    """Deploy over a slow link, with a fault in the middle of the upload; return the exit code and what is printed."""
    node = demo.nodes[1]
    process = demo.begin("deploy", "demo", "--yes")
    said = []
    for line in process.stdout:
        said.append(line)
        if line == "== look at the nodes\n":
            node.shape("mgmt", _SLOW)
        if line == "spark-2: uploading\n":
            break
    wait_until(lambda: len(servers(node)) == 2, "the upload to be under way", 20)
    fault(demo)
    node.shape("mgmt", None)
    said = "".join([*said, *process.stdout])
    process.stdout.close()
    code = process.wait(30)
    node.heal()
    return code, said


def test_a_disk_that_gets_full(demo):
    """Its last free inodes go: in bytes it has room, so that only the upload can find out."""
    node = demo.nodes[1]
    root = f"{node.home}/.local/share/sparkc"
    before = demo.containers()
    used = node.run(["df", "--output=iused", root]).stdout.split()[1]
    node.run(["mount", "-o", f"remount,size=300m,nr_inodes={int(used) + 3}", root])

    done = demo.deploy()

    assert done.returncode == 1
    assert "spark-2: the upload failed; nothing that runs was touched" in done.stderr
    assert "No space left on device" in done.stderr
    assert f"ssh spark@spark-2 df -h {root}" in done.stderr
    assert demo.containers() == before
    demo.check_serving(demo.old)
    node.run(["mount", "-o", "remount,size=300m,nr_inodes=10000", root])
    demo.deploy_new()
