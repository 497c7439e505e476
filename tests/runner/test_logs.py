"""The logs of all ranks as one."""

import threading
import time
from datetime import UTC, datetime

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.group import Group, Member
from sparkc.runner.logs import Selection, last_logs, logs
from sparkc.runner.processes import Processes
from support.local_connection import LocalConnection
from support.node_facts import manifest


class Told:
    """A connection that gives what a test says: per call the lines of a stream, or an error after them."""

    def __init__(self, *streams):
        self.streams = list(streams)

    def stream(self, script, on_line):
        lines, error = self.streams.pop(0)
        for line in lines:
            if not on_line(line):
                return
        if error is not None:
            raise error


def group(*connections, unreached=None):
    made = manifest()
    members = tuple(
        Member(made, rank, connection)
        for rank, connection in zip(made.ranks, connections, strict=False)
        if connection is not None
    )
    return Group(made, members, Processes(), unreached or {})


def stamp(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def collect(made, selection=None):
    shown = []
    logs(made, selection or Selection(), shown.append)
    return [(line.rank, line.text, line.ours) for line in shown]


def test_lines_are_merged_by_time_though_a_clock_is_an_hour_ahead():
    now = time.time()
    ahead = now + 3600
    first = Told(([f"{now} aaa", f"{stamp(now - 9)} one", f"{stamp(now - 5)} three"], None))
    second = Told(([f"{ahead} bbb", f"{stamp(ahead - 7)} two", f"{stamp(ahead - 3)} four"], None))

    assert collect(group(first, second)) == [
        (0, "one", False),
        (1, "two", False),
        (0, "three", False),
        (1, "four", False),
    ]


def test_lines_of_one_rank_with_the_same_stamp_keep_their_order():
    now = time.time()
    lines = [f"{stamp(now - 5)} {number}" for number in range(20)]

    shown = collect(group(Told(([f"{now} aaa", *lines], None))))

    assert [text for _, text, _ in shown] == [str(number) for number in range(20)]


def test_what_cannot_be_read_is_said():
    now = time.time()
    made = group(
        Told(([f"{now} -"], None)),
        unreached={1: SparkcError("cannot be reached", host="spark-2")},
    )

    assert sorted(collect(made)) == [(0, "there is no container", True), (1, "cannot be reached", True)]


def test_docker_without_an_answer_is_said():
    shown = collect(group(Told((["Cannot connect to the Docker daemon"], None))))

    assert shown == [(0, "Docker gives no log: Cannot connect to the Docker daemon", True)]


def test_a_lost_connection_is_made_again_without_lines_that_were_shown(monkeypatch):
    monkeypatch.setattr("sparkc.runner.logs._RETRY_SECONDS", 0.01)
    now = time.time()
    lost = SparkcError("the connection was lost during logs")
    connection = Told(
        ([f"{now} aaa", f"{stamp(now - 3)} one", f"{stamp(now - 2)} two"], lost),
        ([f"{now} aaa", f"{stamp(now - 2)} two", f"{stamp(now - 1)} three", "ended exited 3"], None),
    )

    assert collect(group(connection), Selection("all", "", follow=True)) == [
        (0, "one", False),
        (0, "two", False),
        (0, "three", False),
        (0, "the connection was lost during logs; trying again", True),
        (0, "connected again", True),
        (0, "the container has exited 3", True),
    ]


def test_nobody_reads_any_more(monkeypatch):
    now = time.time()
    going_on = threading.Event()

    class Endless(Told):
        def stream(self, script, on_line):
            on_line(f"{now} aaa")
            on_line(f"{stamp(now)} one")
            while made.processes.pause(0.05) is None:
                going_on.set()

    made = group(Endless())

    def show(line):
        going_on.wait(5)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        logs(made, Selection(follow=True), show)


def test_the_last_lines_of_every_rank():
    now = time.time()
    failed = SparkcError("cannot be reached", host="spark-2")
    made = group(
        Told(([f"{now} aaa", f"{stamp(now)} \x1b[31mone\x1b[0m", f"{stamp(now)} ", f"{stamp(now)} two"], None)),
        unreached={1: failed},
    )

    assert last_logs(made, 5) == {0: ("one", "", "two"), 1: failed}


def test_the_last_lines_without_a_container():
    assert last_logs(group(Told((["1.0 -"], None))), 5) == {0: ("there is no container",)}


DOCKER = """\
#!/bin/bash
case "$1" in
ps) echo abc ;;
logs) shift; echo "2026-11-30T10:00:00.000000001Z asked for: $*" ;;
container) echo 'ended exited 0' ;;
esac
"""


@pytest.mark.parametrize(
    ("selection", "asked"),
    [
        (Selection(), "--timestamps --tail all abc"),
        (Selection("5", "10m"), "--timestamps --tail 5 --since 10m abc"),
        (Selection("5", "", follow=True), "--follow --timestamps --tail 5 abc"),
    ],
)
def test_the_script_asks_docker_for_what_was_selected(tmp_path, selection, asked):
    connection = LocalConnection(tmp_path)
    connection.program("docker", DOCKER)
    ended = [(0, "the container has exited 0", True)] if selection.follow else []

    assert collect(group(connection), selection) == [(0, f"asked for: {asked}", False), *ended]
