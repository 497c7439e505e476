"""Nodes that are odd, or that somebody has worked on."""

from __future__ import annotations

import json

import pytest

from lab.deployment import BASE, Deployment

pytestmark = pytest.mark.lab

# What a shell does to these words is seen by the file that they make.
_HOME = "/home/my spark's $(touch /tmp/canary) home"
_CHATTY = "echo 'welcome to the node'\necho 'disk quota: fine' >&2\nprintf 'no line end'\n"


def test_odd_logins(fresh_lab, tmp_path):
    """A home with spaces, quotes and a command in its name; a login shell that prints on both streams."""
    first, second = fresh_lab.nodes[:2]
    first.set_login(home=_HOME)
    second.set_login(bashrc=_CHATTY)
    demo = Deployment(fresh_lab, tmp_path)
    for node in demo.nodes:
        node.run(["mkdir", "-p", f"{node.home}/.cache/huggingface"], user="spark")

    demo.renew()
    assert demo.serves(demo.old)
    demo.deploy_new()
    assert demo.sparkc("deploy", "demo", "--yes").stdout == "demo serves already; nothing to do\n"

    doctor = demo.sparkc("doctor", "demo")
    assert "note: spark-2: the login shell prints 'welcome to the node' where no terminal is" in doctor.stderr
    assert demo.sparkc("status", "demo", "--deep").returncode == 0
    told = demo.sparkc("logs", "demo", "--tail", "1")
    assert told.returncode == 0
    assert "welcome" not in told.stdout
    for rank in ("0", "1"):
        done = demo.sparkc("exec", "demo", "--rank", rank, "--", "echo", "it works")
        assert done.returncode == 0
        assert done.stdout.endswith("it works\n")
    assert demo.sparkc("rollback", "demo", "--yes").returncode == 0
    assert demo.sparkc("down", "demo").returncode == 0
    assert demo.containers() == [None, None]
    assert not any((node.root / "tmp/canary").exists() for node in demo.nodes)


def test_release_that_was_changed_on_a_node(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path)
    demo.new = demo.compile()
    demo.deploy_new()
    node = demo.nodes[1]
    digest = demo.new["group_digest"]
    [folder] = [rank["folder"] for rank in demo.new["ranks"] if rank["node"] == node.name]
    script = node.root / f"home/spark/{BASE}/releases/{digest}/demo/{folder}/launch.sh"
    original = script.read_bytes()
    script.write_bytes(original + b"# a quick fix\n")
    before = demo.containers()

    plan = demo.sparkc("plan", "demo")
    done = demo.deploy()

    aloud = f"files of the release were changed: {folder}/launch.sh"
    assert aloud in plan.stdout
    assert done.returncode == 0, done.stderr
    assert aloud in done.stdout
    assert script.read_bytes() == original
    assert not set(before) & set(demo.containers())
    demo.check_serving(demo.new)
    data = json.loads(demo.sparkc("deploy", "demo", "--yes", "--json").stdout)
    assert data["outcome"] == "unchanged"
