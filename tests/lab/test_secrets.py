"""A secret reaches the engine on every rank, byte for byte, and nothing else."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.deployment import BASE

pytestmark = pytest.mark.lab

RECIPE = "secrets: [CANARY]\n"
# What is looked for is in the middle of what a shell, an env file or Compose might change.
MARK = "canary-5e1f"
FIRST = f"""'$HOME ${{X}} {MARK}-1 \\n "# end"""
SECOND = f"{MARK}-2"


@contextmanager
def watched_processes():
    """Look at the arguments of every process of this machine, nodes and containers included, all the time."""
    seen, done = set(), threading.Event()

    def watch():
        while not done.wait(0.002):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    arguments = path.read_bytes()
                except OSError:
                    continue
                if MARK.encode() in arguments:
                    seen.add(arguments)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def secret(demo):
    """The secret as the engines of all ranks have it."""
    words = ["docker", "exec", "demo", "cat", "/run/stub/invocation.json"]
    return [json.loads(node.run(words).stdout)["environ"].get("CANARY") for node in demo.nodes]


def deploy(demo, value, *arguments):
    done = demo.deploy(*arguments, env={"CANARY": value})
    assert done.returncode == 0, done.stderr
    assert MARK not in done.stdout + done.stderr
    return done


def files_with_it(folder):
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and MARK.encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


def check_nowhere_else(demo):
    """Make sure that the secret is in the release's own file alone, which is for its owner."""
    assert files_with_it(demo.folder) == []
    assert files_with_it(demo.lab.machine.home) == []
    for node in demo.nodes:
        places = [node.home, "/tmp", "/etc", "/lab/node/log"]
        # For a health check, dockerd hands the container's environment to runc in a file that is root's own.
        handed = "--exclude=runc-process*"
        listed = node.run(["grep", "-r", "-l", handed, MARK, *places], check=False).stdout.split()
        assert listed
        assert {path.rpartition("/")[2] for path in listed} == {".sparkc-secrets.env"}
        modes = node.run(["stat", "-c", "%a %U", *listed]).stdout.split("\n")
        assert set(filter(None, modes)) == {"600 spark"}
        told = node.docker.inspect("demo")
        assert MARK in json.dumps(told["Config"].pop("Env"))
        assert MARK not in json.dumps(told)
        logged = node.run(["docker", "logs", "demo"])
        assert MARK not in logged.stdout + logged.stderr


def test_it_is_refused_before_any_connection_when_it_has_no_value(deployment):
    demo = deployment
    demo.compile(more=RECIPE)
    for node in demo.nodes:
        node.log.clear()

    done = demo.deploy()

    assert done.returncode == 1
    assert "no value for the secret CANARY" in done.stderr
    assert "export CANARY=… in this shell, or use --secrets-file FILE" in done.stderr
    assert [node.log.ssh().connections for node in demo.nodes] == [(), ()]


def test_it_reaches_every_rank_and_nothing_else(deployment, tmp_path):
    demo = deployment
    demo.old = demo.compile(more=RECIPE)
    with watched_processes() as seen:
        deploy(demo, FIRST)
        said = [
            demo.sparkc(*words, env={"CANARY": FIRST})
            for words in (
                ("plan", "demo", "--json"),
                ("status", "demo", "--json", "--deep"),
                ("logs", "demo"),
                ("releases", "demo", "--json"),
                ("doctor", "demo", "--json"),
                ("deploy", "demo", "--yes", "--json"),
            )
        ]

    assert [done.returncode for done in said] == [0] * len(said)
    assert MARK not in "".join(done.stdout + done.stderr for done in said)
    assert json.loads(said[-1].stdout)["outcome"] == "unchanged"
    assert secret(demo) == [FIRST, FIRST]
    assert seen == set()
    check_nowhere_else(demo)
    demo.check_serving(demo.old)


def test_another_value_restarts_the_group_and_the_same_does_not(deployment, tmp_path):
    demo = deployment
    demo.old = demo.compile(more=RECIPE)
    deploy(demo, FIRST)
    before = demo.containers()
    file = tmp_path / "secrets"
    file.touch(0o600)
    file.write_text(f"# ours\nCANARY={SECOND}\n", "utf-8")

    same = deploy(demo, FIRST)
    assert demo.containers() == before
    other = demo.deploy("--secrets-file", str(file))
    file.unlink()

    assert "nothing to do" in same.stdout
    assert other.returncode == 0, other.stderr
    assert "the secrets are others" in other.stdout
    assert MARK not in other.stdout + other.stderr
    assert set(demo.containers()).isdisjoint(before)
    assert secret(demo) == [SECOND, SECOND]
    check_nowhere_else(demo)


def test_a_rollback_has_the_secret_of_its_release_until_that_is_removed(deployment):
    demo = deployment
    demo.compile({"VERSION": "1"}, RECIPE)
    deploy(demo, FIRST)
    old = demo.manifest()
    demo.compile({"VERSION": "2"}, RECIPE)
    deploy(demo, SECOND)
    assert secret(demo) == [SECOND, SECOND]

    back = demo.sparkc("rollback", "demo", "--yes")

    assert back.returncode == 0, back.stderr
    assert MARK not in back.stdout + back.stderr
    assert secret(demo) == [FIRST, FIRST]
    demo.check_serving(old)
    down = demo.sparkc("down", "demo")
    assert down.returncode == 0, down.stderr
    for node in demo.nodes:
        release = f"/home/spark/{BASE}/releases/{old['group_digest']}"
        # `down` keeps the releases, so that `rollback` can start them again.
        assert node.run(["stat", "-c", "%a", f"{release}/.sparkc-secrets.env"]).stdout == "600\n"


def test_a_failed_start_does_not_tell_it_and_goes_back_to_the_old_value(deployment):
    demo = deployment
    demo.compile({"VERSION": "3"}, RECIPE)
    deploy(demo, FIRST)
    demo.old = demo.manifest()
    for node in demo.nodes:
        node.stub_settings(STUB_HANG="1")
    demo.nodes[1].stub_settings(STUB_CRASH_AT_START="1")
    process, said = demo.deploy_until("== start", before=("env", f"CANARY={SECOND}"))
    for line in process.stdout:
        said.append(line)
        if "going back" in line:
            for node in demo.nodes:
                node.stub_settings()
    code = process.wait(30)
    process.stdout.close()

    assert code == 1
    assert MARK not in "".join(said)
    assert "what ran before serves again" in "".join(said)
    assert secret(demo) == [FIRST, FIRST]
    check_nowhere_else(demo)
    demo.check_serving(demo.old)
