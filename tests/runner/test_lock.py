"""The lock of a bundle, with the real script: one holder, no holder that is gone, none that is thrown out unseen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.facts import Holder
from sparkc.runner.lock import describe, held
from sparkc.runner.unlock import unlock


class Said:
    """A progress that keeps what it is told."""

    def __init__(self):
        self.lines = []

    def phase(self, title):
        pass

    def node(self, node, state, detail=""):
        pass

    def say(self, line):
        self.lines.append(line)


@pytest.fixture
def folder(nodes):
    return nodes.base("spark-1", "demo") / "lock"


def soon(true):
    """Wait for what happens in another process."""
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_is_held_within_the_block_only(connection, layout, folder):
    said = Said()

    with held(connection, layout, "deploying abc", 600, said):
        lines = dict(line.split("=", 1) for line in (folder / "holder").read_text().splitlines())
        assert lines["doing"] == "deploying abc"
        assert lines["pid"] == str(os.getpid())
        assert int(lines["deadline"]) - int(lines["since"]) == 600

    assert not folder.exists()
    assert said.lines == []


def test_a_second_one_is_told_who_holds_it(connection, layout, folder):
    said = Said()

    with held(connection, layout, "deploying abc", 600, Said()):
        with pytest.raises(SparkcError) as caught, held(connection, layout, "pruning", 600, said):
            pytest.fail("two hold the lock")
        assert folder.exists()

    assert caught.value.host == "spark-1"
    assert f"(process {os.getpid()}), deploying abc, since just now" in caught.value.message
    assert "sparkc lock release demo" in caught.value.hint
    assert said.lines == []


@pytest.mark.parametrize("error", [SparkcError("x"), KeyboardInterrupt()])
def test_it_is_released_whatever_ends_the_block(connection, layout, folder, error):
    with pytest.raises(type(error)), held(connection, layout, "deploying", 600, Said()):
        raise error

    assert not folder.exists()


def test_the_lock_of_a_killed_sparkc_is_taken_over_aloud(nodes, connection, layout, folder):
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); from test_lock import Said, held\n"
        "from conftest import Processes, Ssh, make_target, root_layout\n"
        "with Ssh(Processes()) as ssh, held(ssh.connect(make_target('spark-1', 'spark-1', 'spark')),\n"
        "        root_layout(sys.argv[2], 'demo'), 'deploying abc', 600, Said()):\n"
        "    print('held', flush=True); time.sleep(60)\n"
    )
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": str(here.parent)}
    argv = [sys.executable, "-c", code, str(here), str(nodes.home("spark-1"))]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        other.send_signal(signal.SIGKILL)
    soon((folder / "abandoned").exists)
    said = Said()

    with held(connection, layout, "deploying def", 600, said):
        assert "doing=deploying def" in (folder / "holder").read_text()

    assert len(said.lines) == 1
    assert "(deploying abc) is taken over" in said.lines[0]


@pytest.mark.parametrize(
    "holder",
    [
        "who=a@b\npid=1\ndoing=x\nsince=1\ndeadline=99999999999\n",  # nobody holds the file: its keeper was killed
        "who=a@b\npid=1\ndoing=x\nsince=1\ndeadline=2\n",
        "",
        None,
    ],
)
def test_a_lock_without_a_keeper_keeps_nobody_out(connection, layout, folder, holder):
    folder.mkdir(parents=True)
    if holder is not None:
        (folder / "holder").write_text(holder)
    said = Said()

    with held(connection, layout, "deploying", 600, said):
        assert "doing=deploying" in (folder / "holder").read_text()

    assert len(said.lines) == 1


def test_a_lock_counts_until_its_deadline_only(connection, layout, folder):
    with held(connection, layout, "hanging", 0, Said()), held(connection, layout, "deploying", 600, Said()):
        assert "doing=deploying" in (folder / "holder").read_text()


def test_a_holder_that_was_thrown_out_leaves_the_next_one_alone(connection, layout, folder):
    first = held(connection, layout, "deploying", 600, Said())
    first.__enter__()
    unlock(connection, layout)

    with held(connection, layout, "going back", 600, Said()):
        first.__exit__(None, None, None)
        assert "doing=going back" in (folder / "holder").read_text()

    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_told(nodes, connection, layout):
    (nodes.home("spark-1") / ".local").write_text("")

    with pytest.raises(SparkcError) as caught, held(connection, layout, "deploying", 600, Said()):
        pytest.fail("there is no lock")

    assert caught.value.message == f"the lock cannot be made in {layout.base}"
    assert "Not a directory" in caught.value.output


def test_releasing_by_hand_tells_who_it_was(connection, layout, folder):
    assert unlock(connection, layout) is None
    with held(connection, layout, "deploying", 600, Said()):
        holder = unlock(connection, layout)
        assert holder.doing == "deploying"
        assert holder.pid == os.getpid()
        assert not folder.exists()


@pytest.mark.parametrize(("seconds", "since"), [(30, "just now"), (150, "2 min ago"), (-5, "just now")])
def test_how_a_holder_is_told(seconds, since):
    holder = Holder("ann@laptop", 7, "deploying abc", 1000.0, 2000.0, alive=True)

    assert describe(holder, 1000.0 + seconds) == f"ann@laptop (process 7), deploying abc, since {since}"
