"""Whole bundles, one snapshot per file, each read by the tools that will read it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plan_factory import inventory_value, mod, node, plan, plans, rank
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from sparkc.bundle.render import folder_name, render
from sparkc.bundle.verify import verify

PLANS = plans()
CASES = [
    (name, file.path) for name, made in PLANS.items() for file in render(made) if "/mods/" not in file.path
]  # vendored files are the mod's own bytes


@pytest.fixture
def as_file(snapshot, request):
    """Return the snapshot for a path: a file with the same suffix, so that editors and reviewers see what it is."""

    def at(path):
        class Extension(SingleFileSnapshotExtension):
            _write_mode = WriteMode.TEXT
            file_extension = _file_extension = Path(path).suffix[1:]

        return snapshot.use_extension(Extension)

    return at


def contents(made):
    return {file.path: file.data for file in render(made)}


@pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path.replace('/', '-')}" for name, path in CASES])
def test_bundle(as_file, name, path):
    assert contents(PLANS[name])[path].decode() == as_file(path)


@pytest.mark.parametrize("name", PLANS)
def test_compose_accepts_every_rank(unpack, name):
    made = PLANS[name]
    folder = unpack(render(made))
    verify([folder / folder_name(rank) for rank in made.ranks], made.name)


def test_shellcheck_accepts_every_launch_script(unpack):
    scripts = [path for name, made in PLANS.items() for path in unpack(render(made), name).glob("*/launch.sh")]
    beside = Path(sys.executable).with_name("shellcheck")
    tool = beside if beside.is_file() else shutil.which("shellcheck")
    done = subprocess.run([tool, "-s", "sh", *scripts], capture_output=True, text=True, check=False)
    assert (len(scripts), done.returncode, done.stdout) == (7, 0, "")


def test_rendering_is_a_function_of_the_plan():
    for made in PLANS.values():
        assert render(made) == render(made)


def test_files_are_sorted_and_have_the_modes_of_the_design():
    files = render(PLANS["ray"])
    assert [file.path for file in files] == sorted(file.path for file in files)
    executable = {file.path.rpartition("/")[2] for file in files if file.mode == 0o755}
    assert executable == {"launch.sh", "run.sh"}
    assert {file.mode for file in files} == {0o644, 0o755}


def test_odd_names_stay_inside_the_bundle_and_apart():
    names = ["../../etc", "a/b", "a b", "ünï", "fe80::1"]
    ranks = [
        rank(number, world=5, node=node(number + 1, name=inventory_value(name))) for number, name in enumerate(names)
    ]
    files = render(plan(*ranks, mods=(mod("../up"), mod("a b"), mod("a/b"))))
    folders = {file.path.split("/")[0] for file in files if "/" in file.path}
    assert folders == {"rank-0-..-..-etc", "rank-1-a-b", "rank-2-a-b", "rank-3--n-", "rank-4-fe80--1"}
    mods = {file.path.split("/")[2] for file in files if "/mods/" in file.path}
    assert mods == {"01-..-up", "02-a-b", "03-a-b"}
