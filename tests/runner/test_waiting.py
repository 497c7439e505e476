"""Waiting for a group, on connections that tell what a test says."""

import time

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.group import Group, Member
from sparkc.runner.processes import Processes
from sparkc.runner.waiting import wait_until_serving
from support.node_facts import manifest

NEVER = "0001-01-01T00:00:00Z"
LOST = SparkcError("the connection was lost during watch")


class Progress:
    def __init__(self):
        self.states, self.said = [], []

    def phase(self, title): ...

    def node(self, node, state, detail=""):
        self.states.append((node, state, detail))

    def say(self, line):
        self.said.append(line)


class Told:
    """Gives lines, the last one again and again; an error in the list is raised once."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def stream(self, script, on_line):
        while True:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, SparkcError):
                raise answer
            if not on_line(answer):
                return
            time.sleep(0.01)


def line(state="running", health="none", started="2026-11-30T10:00:00.0Z", finished=NEVER, log="", code=0):
    clock = time.time()
    return f"{state}\t{health}\t{code}\t0\tfalse\t{started}\t{finished}\t{clock}\t1000\t500\t100\t{log}"


def wait(*connections, seconds=30.0, unreached=None):
    made = manifest()
    members = tuple(Member(made, rank, told) for rank, told in zip(made.ranks, connections, strict=False))
    progress = Progress()
    wait_until_serving(Group(made, members, Processes(), unreached or {}), seconds, progress)
    return progress


def test_all_ranks_come_to_serve():
    head = Told(line(health="starting", log="Loading"), line(health="healthy", log="ready"))

    progress = wait(head, Told(line()))

    assert ("spark-1", "loading", "Loading") in progress.states
    assert ("spark-1", "healthy", "ready") in progress.states
    assert ("spark-2", "running", "") in progress.states


def test_a_rank_that_exits_ends_the_wait_at_once():
    worker = Told(line(), line(state="exited", finished="2026-11-30T10:00:07.0Z", code=1, log="no such flag"))
    head = Told(line(health="starting"), line(state="exited", finished="2026-11-30T10:00:09.0Z", code=1))

    began = time.monotonic()
    with pytest.raises(SparkcError) as raised:
        wait(head, worker, seconds=1000.0)

    assert time.monotonic() - began < 6
    assert (raised.value.host, raised.value.message) == ("spark-2", "rank 1 (worker) exited with code 1 after 7 s")
    assert "last said: no such flag" in (raised.value.output or "")


def test_a_lost_connection_is_made_again(monkeypatch):
    monkeypatch.setattr("sparkc.runner.waiting._RETRY_SECONDS", 0.01)

    progress = wait(Told(line(health="starting"), line(health="healthy")), Told(LOST, LOST, line()))

    assert ("spark-2", "unknown: the connection is lost, trying again", LOST.message) in progress.states


def test_the_time_is_over():
    with pytest.raises(SparkcError) as raised:
        wait(Told(line(health="starting", log="Loading")), Told(line()), seconds=0.2)

    assert raised.value.message == "rank 0 (head) does not serve after 0 s"
    assert "rank 0, spark-1: loading; last said: Loading" in (raised.value.output or "")


def test_a_node_out_of_reach_is_not_waited_for():
    away = SparkcError("cannot be reached", host="spark-2")

    with pytest.raises(SparkcError) as raised:
        wait(Told(line()), unreached={1: away})

    assert raised.value is away
