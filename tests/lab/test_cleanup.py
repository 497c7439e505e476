"""Bringing labs down: whole ones, and those whose ``up`` was killed on its way; nothing is left of either."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import cleanup, state
from lab.cluster import Lab
from lab.fixtures import need_lab
from lab.requirements import program
from lab.system import LabError

pytestmark = pytest.mark.lab

ROOT = Path(__file__).parents[2]
NAME = f"cleanup-{os.getpid()}"
UP = [sys.executable, "-m", "tests.lab", "up", "--name", NAME, "--nodes", "2"]


@pytest.fixture(autouse=True)
def _machine():
    need_lab()
    yield
    cleanup.down(NAME)


def traces():
    """All that this machine shows of the lab, and of things that no lab may leave: rules, names of namespaces."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and f"/{NAME}/" in (process / "cmdline").read_text(errors="replace"):
                found.append((process / "cmdline").read_text(errors="replace"))
            if process.name.isdecimal() and f"/sparkc-lab/{NAME}" in (process / "mountinfo").read_text():
                found.append((process / "comm").read_text())
        except OSError:
            continue
    found += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"/{NAME}/" in line]
    found += [str(path) for path in (state.BASE / NAME, state.DATA / NAME) if path.exists()]
    found += [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/sparkc-lab/{NAME}")]
    return found


def outside():
    """What a lab must not change on the machine, labs of others aside."""
    links = subprocess.check_output(["ip", "-o", "link"], text=True).splitlines()
    save = program("iptables-save")
    rules = subprocess.run([save], capture_output=True, text=True, check=False).stdout if save else ""
    return (
        [line.split(": ")[1] for line in links if "sparklab" not in line],
        subprocess.check_output(["ip", "netns"], text=True),
        [line for line in rules.splitlines() if not line.startswith(("#", ":"))],
    )


def interfaces():
    return {path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith("sparklab")}


def test_down_leaves_nothing():
    before = outside()
    lab = Lab.up(NAME, 2)
    # A program in the background of the control machine, such as an ssh master, ends as well.
    lab.machine.ssh("spark-1", "true")
    master = lab.control(["sleep", "1000"])
    assert traces()
    lab.down()
    assert master.wait(timeout=5) == -signal.SIGKILL
    assert traces() == []
    assert lab.facts.uplink not in interfaces()
    assert outside() == before


@pytest.mark.parametrize("seconds", [0.15, 0.3, 0.45, 0.6, 0.8, 1.1, 1.6, 2.5])
def test_down_after_up_was_killed(seconds):
    before = outside()
    process = subprocess.Popen(UP, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(seconds + random.uniform(0, 0.05))
    process.kill()
    process.wait()
    facts = state.load(NAME) if (state.BASE / NAME).exists() else None
    cleanup.down(NAME)
    assert traces() == []
    assert facts is None or facts.uplink not in interfaces()
    assert outside() == before


def test_up_removes_what_a_crash_left():
    process = subprocess.Popen(UP, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    process.kill()
    process.wait()
    lab = Lab.up(NAME, 1)
    assert lab.machine.ssh("spark-1", "docker ps -q | wc -l").stdout == "1\n"


def test_a_lab_that_is_up_is_not_removed():
    lab = Lab.up(NAME, 1)
    told = subprocess.run(UP, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (1, f"lab {NAME} is up already, with 1 nodes; bring it down first\n")
    assert lab.machine.ssh("spark-1", "true").returncode == 0


def test_down_without_a_lab():
    told = subprocess.run([*UP[:3], "down", "--name", NAME], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, f"there is no lab {NAME}\n")


def test_a_bad_name_is_refused():
    with pytest.raises(LabError, match="lowercase letters"):
        Lab.up("../x")
    assert not (state.BASE / ".." / "x").exists()


def test_one_reason_where_no_lab_can_run():
    told = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", "--regid=65534", *_readable_python(), "-m", "tests.lab", "up"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert told.stderr == "the lab needs root: it makes namespaces and bridges (sudo, or a virtual machine)\n"


def _readable_python():
    """A Python that another user may start; the one of these tests may be in root's home."""
    system = Path("/usr/bin/python3")
    if not system.exists() or not os.access(ROOT, os.R_OK):
        pytest.skip("no Python that another user may start")
    return [str(system)]
