"""The lock of a bundle: one command at a time changes it, and none has to clear up by hand after a dead one."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest

from lab.deployment import BASE

pytestmark = pytest.mark.lab

HOUR = 3600
LOCK = f"/home/spark/{BASE}/lock"
# The processes that have a file open.
_OPENED_BY = 'for fd in /proc/[0-9]*/fd/*; do [ ! "$fd" -ef "$0" ] || echo "${fd%/fd/*}"; done 2>/dev/null'


def check_deployed(demo):
    demo.check_serving(demo.new)
    demo.old = demo.new


# Two at once


def test_of_two_commands_one_wins_and_the_other_names_it(demo):
    demo.slow_docker(0.5)
    first, said = demo.deploy_until("== upload")

    second = demo.deploy()
    down = demo.sparkc("down", "demo")
    status = demo.sparkc("lock", "status", "demo")

    code, said = demo.finish(first, said)
    who = (
        f"locked by {getpass.getuser()}@{socket.gethostname()} (process {first.pid}), "
        f"deploying {demo.new['group_digest'][:12]}, since just now"
    )
    for refused in (second, down):
        assert refused.returncode == 1
        assert f"spark-1: demo is {who}" in refused.stderr
        assert "wait for it to end; if it is certainly dead: sparkc lock release demo" in refused.stderr
    assert status.stdout == f"spark-1: {who}\n"
    assert code == 0, said
    assert f"demo serves at {demo.new['client_url']}" in said
    check_deployed(demo)


def test_a_lock_taken_away_by_hand_is_free_for_the_next(demo):
    demo.renew({"STUB_READY_AFTER": "3"})
    first, said = demo.deploy_until("== wait until it serves")

    released = demo.sparkc("lock", "release", "demo")
    status = demo.sparkc("lock", "status", "demo")

    assert released.returncode == 0
    assert f"spark-1: released the lock of {getpass.getuser()}@" in released.stdout
    assert status.stdout == "demo is not locked\n"
    code, said = demo.finish(first, said)
    assert code == 0, said
    check_deployed(demo)


# A holder that is gone


@contextmanager
def left_behind(demo, kind):
    """The lock of a sparkc that is gone."""
    node = demo.nodes[0]
    now = int(time.time())
    deadline = now - 60 if kind == "over time" else now + HOUR
    holder = f"who=ann@desk\npid=4711\ndoing=deploying 0123456789ab\nsince={now - 2 * HOUR}\ndeadline={deadline}\n"
    node.run(["mkdir", LOCK], user="spark")
    node.run(["sh", "-c", f"cat >{LOCK}/holder"], user="spark", input=holder)
    if kind == "abandoned":
        node.run(["sh", "-c", f"echo abandoned=1 >{LOCK}/abandoned"], user="spark")
    if kind == "no keeper":
        yield
        return
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    keeper = ["flock", f"{LOCK}/holder", "sh", "-c", "echo; exec cat"]
    with subprocess.Popen(node.enter(keeper, user="spark"), **pipes) as process:
        process.stdout.readline()
        yield
        process.stdin.close()


@pytest.mark.parametrize("kind", ["abandoned", "over time", "no keeper"])
def test_a_lock_whose_holder_is_gone_is_taken_over_aloud(demo, kind):
    with left_behind(demo, kind):
        status = demo.sparkc("lock", "status", "demo")
        said = demo.deploy_new().stderr

    gone = "left behind by ann@desk (process 4711), deploying 0123456789ab, since 120 min ago"
    assert status.stdout == f"spark-1: {gone}; the next command takes it over\n"
    assert "the lock of ann@desk (deploying 0123456789ab) is taken over: that sparkc is gone" in said


def test_a_keeper_killed_on_the_node_ends_the_deploy_before_anything_is_stopped(demo):
    demo.slow_docker(0.3)
    process, said = demo.deploy_until("== upload")
    [keeper] = demo.nodes[0].run(["bash", "-c", _OPENED_BY, f"{LOCK}/holder"]).stdout.split()
    demo.nodes[0].run(["kill", "-KILL", keeper.removeprefix("/proc/")])

    code, said = demo.finish(process, said)

    assert code == 1, said
    assert "spark-1: the lock is lost" in said
    assert "== stop what runs" not in said
    assert demo.serves(demo.old)
    assert f"left behind by {getpass.getuser()}@" in demo.sparkc("lock", "status", "demo").stdout
    assert "is taken over: that sparkc is gone" in demo.deploy_new().stderr


# Clocks


@pytest.mark.parametrize(("first_clock", "second_clock"), [("+1h", "-1h"), ("-1h", "+1h")])
def test_the_control_machines_clock_may_be_wrong(demo, first_clock, second_clock):
    demo.slow_docker(0.3)
    first, said = demo.deploy_until("== upload", before=("faketime", "-f", first_clock))

    second = demo.deploy(before=("faketime", "-f", second_clock))
    code, said = demo.finish(first, said)
    status = demo.sparkc("status", "demo", before=("faketime", "-f", second_clock))

    assert second.returncode == 1
    assert f"deploying {demo.new['group_digest'][:12]}, since just now" in second.stderr
    assert code == 0, said
    check_deployed(demo)
    deployed = demo.file(demo.nodes[0], f"releases/{demo.new['group_digest']}/deployed").read_text("utf-8")
    assert abs(int(deployed) - time.time()) < 120
    assert status.returncode == 0, status.stderr
    [age] = re.findall(r"^ *0 .*?running.*? (\d+) s", status.stdout, re.MULTILINE)
    assert int(age) < 120
