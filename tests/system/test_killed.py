"""A killed compile leaves the old bundle, the new one, or one marked unfinished, which the next compile finishes."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from system_tools import PACKAGE, PATH, RECIPE, ProjectFolder, compiled, tree

from sparkc.bundle.check import check_bundle
from sparkc.bundle.write import write_bundle
from sparkc.diagnostics import Report

PROGRAM = Path(__file__).with_name("killed_compile.py")


class Killer:
    """Runs compiles that are killed after a given step."""

    def __init__(self, project):
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, "compile", "demo"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=project.root,
            env={"PATH": PATH, "PYTHONPATH": str(PACKAGE)},
        )

    def __call__(self, step):
        self.process.stdin.write(f"{step}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def kill(demo):
    """A function that compiles the demo and kills that compile after a given step."""
    killer = Killer(demo)
    yield killer
    killer.close()


def state(project, old, new):
    """Return old, new or unfinished; anything else, or a half-written bundle that passes for whole, fails."""
    folder = project.out / "demo"
    if not folder.exists():
        assert old is None
        return "old"
    for name, outcome in (("old", old), ("new", new)):
        report = Report()
        if outcome is not None and not check_bundle(outcome.compiled.files, folder, report=report):
            return "unfinished" if report.failed else name
    report = Report()
    check_bundle(new.compiled.files, folder, report=report)
    if [found.code for found in report.diagnostics] == ["SPK605"]:
        return "unfinished"
    # Nothing of the first write has a name yet.
    assert old is None
    assert not [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".sparkc-")]
    return "old"


@pytest.mark.parametrize("update", [False, True], ids=["first", "update"])
def test_killed_after_any_step_the_next_compile_heals(update, demo, kill):
    old = None
    if update:
        compiled(demo)
        shutil.copytree(demo.out, demo.root.with_name("before"))
        old = demo.compile("recipes/demo.yaml")
        demo.write("recipes/demo.yaml", RECIPE.replace("4096", "8192") + "mods: [second]\n")
        demo.mod("second")
    new = demo.compile("recipes/demo.yaml")
    shutil.copytree(demo.root, demo.root.with_name("clean"))
    after = compiled(ProjectFolder(demo.root.with_name("clean")))
    seen = []
    for step in range(200):
        for sign in (1, -1) if step % 4 == 1 else (1,):
            status = kill(step * sign)
            if status == 0:
                break
            assert status == -signal.SIGKILL
            seen.append(state(demo, old, new))
            if step % 5 == 0:
                # Killed while it heals, too.
                kill(2)
                state(demo, old, new)
            assert compile_here(demo) == after, (step, sign)
            shutil.rmtree(demo.out)
            if update:
                shutil.copytree(demo.root.with_name("before"), demo.out)
        if status == 0:
            break
    assert tree(demo.out) == after
    assert len(seen) > 30
    assert {"old", "unfinished"} <= set(seen) <= {"old", "unfinished", "new"}


def compile_here(project):
    """Compile in this process: two hundred starts of Python would take a minute."""
    outcome, report = project.compile("recipes/demo.yaml"), Report()
    assert write_bundle(outcome.compiled.files, outcome.compiled.directory, force=False, report=report) is not None
    return tree(project.out)


def test_a_recipe_that_changed_after_the_kill_is_no_hand_edit(demo, kill):
    before = compiled(demo)
    text = (demo.root / "recipes/demo.yaml").read_text()
    steps = 0
    for step in range(4, 30, 3):
        demo.write("recipes/demo.yaml", text.replace("4096", "8192"))
        steps += kill(step) == -signal.SIGKILL
        demo.write("recipes/demo.yaml", text.replace("4096", "1024"))
        assert b"'1024'" in compile_here(demo)["demo/rank-0-spark-1/launch.sh"]
        demo.write("recipes/demo.yaml", text)
        assert compile_here(demo) == before
    assert steps >= 4


def test_killed_at_any_time_the_next_compile_heals(demo):
    after = compiled(demo)
    command = [sys.executable, "-m", "sparkc", "compile", "demo"]
    start = time.monotonic()
    demo.sparkc("compile", "demo")
    took = time.monotonic() - start
    source = random.Random(7)
    for _ in range(8):
        shutil.rmtree(demo.out)
        process = subprocess.Popen(
            command,
            cwd=demo.root,
            env={"PATH": PATH, "PYTHONPATH": str(PACKAGE)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(took * source.uniform(0.5, 1.0))
        process.kill()
        process.wait()
        assert compile_here(demo) == after


def test_an_unfinished_bundle_is_told_by_check_and_finished_by_all(demo, kill):
    after = compiled(demo)
    demo.write("recipes/demo.yaml", RECIPE.replace("4096", "8192") + "mods: [first]\n")
    assert kill(6) == -signal.SIGKILL
    check = demo.sparkc("compile", "--check")
    assert check.returncode == 1
    assert "SPK605" in check.stderr
    assert demo.sparkc("compile", "--all").returncode == 0
    assert demo.sparkc("compile", "--check").returncode == 0
    assert tree(demo.out).keys() == after.keys()
