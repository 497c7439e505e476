"""Small inputs with what must arrive in the container, through the real sh and the real Compose.

Each folder of ``cases/`` has a recipe, an inventory and ``expected.json``: argv, env, mounts and health check of every
rank, under a hostile environment of whoever calls Compose; or where the errors are.
"""

import json
import shutil
from pathlib import Path

import pytest
from system_tools import RECIPE, ProjectFolder, inventory, service, unpack

CASES = Path(__file__).with_name("cases")
EXPECTED = {path.parent.name: json.loads(path.read_text()) for path in sorted(CASES.glob("*/expected.json"))}
GOOD = [name for name, case in EXPECTED.items() if "ranks" in case]
BAD = [(name, file) for name, case in EXPECTED.items() for file in case.get("errors", ())]
HOMES = {"0": "/home/alice", "1": "/srv/bob"}
CACHE = {"target": "/root/.cache/huggingface", "read_only": False}
LOADED = [(name, rank) for name in GOOD for rank in EXPECTED[name]["ranks"]]


def opened(name, tmp_path):
    shutil.copytree(CASES / name, tmp_path / "case")
    return ProjectFolder(tmp_path / "case")


def compiled(name, tmp_path, recipe="recipe.yaml"):
    outcome = opened(name, tmp_path).compile(recipe, no_cache_dirs=True)
    assert len(outcome.folders) == len(EXPECTED[name]["ranks"])
    return outcome


@pytest.mark.parametrize(("name", "rank"), LOADED)
def test_argv(name, rank, tmp_path, stubs):
    outcome = compiled(name, tmp_path)
    bundle = unpack(outcome, tmp_path / "bundle")
    hostile = EXPECTED[name].get("host_env_during_compose", {})
    started = stubs.launch(bundle / outcome.folders[int(rank)], hostile)
    assert started.argv == EXPECTED[name]["ranks"][rank]["argv"]
    assert not set(started.argv) & set(EXPECTED[name].get("must_not", ()))


@pytest.mark.parametrize(("name", "rank"), LOADED)
def test_environment_mounts_and_health_check(name, rank, tmp_path):
    outcome = compiled(name, tmp_path)
    expected = EXPECTED[name]["ranks"][rank]
    folder = unpack(outcome, tmp_path / "bundle") / outcome.folders[int(rank)]
    found = service(folder, **EXPECTED[name].get("host_env_during_compose", {}))
    assert found["environment"] | expected["env"] == found["environment"]
    mounts = [
        {"source": mount["source"], "target": mount["target"], "read_only": mount.get("read_only", False)}
        for mount in found["volumes"]
    ]
    assert mounts[0] == {"source": str(folder), "target": "/sparkc", "read_only": True}
    assert mounts[1:] == (expected["mounts"] or [CACHE | {"source": f"{HOMES[rank]}/.cache/huggingface"}])
    assert all(mount["bind"] == {"create_host_path": False} for mount in found["volumes"])
    probe = expected.get("healthcheck")
    if probe is None:
        assert found["healthcheck"] == {"disable": True}
    else:
        assert found["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
        assert probe["probes"] in " ".join(found["healthcheck"]["test"])
        assert found["healthcheck"]["start_period"] == probe["start_period"]


@pytest.mark.parametrize(("name", "file"), BAD)
def test_errors_have_their_places(name, file, tmp_path):
    outcome = opened(name, tmp_path).compile(file)
    found = [
        (error.span.source.name, error.span.line, [place.span.line for place in error.related], error.message)
        for error in outcome.errors
        if error.related
    ]
    expected = EXPECTED[name]["errors"][file]
    assert [(source, line, first) for source, line, first, _ in found] == [
        (file, error["line"], [error["first_line"]]) for error in expected
    ]
    assert all(error["mentions"] in message for error, (*_, message) in zip(expected, found, strict=True))


@pytest.mark.parametrize("name", GOOD)
def test_a_mark_and_crlf_change_no_byte(name, tmp_path):
    project = opened(name, tmp_path)
    clean = {}
    for file in ("recipe.yaml", "inventory.yaml"):
        clean[file] = (project.root / file).read_bytes().removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
        project.write(file, clean[file])
    before = project.compile("recipe.yaml").files
    for file, data in clean.items():
        project.write(file, b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert project.compile("recipe.yaml").files == before


def test_toml_and_yaml_with_marks_give_the_same_ranks_without_them(tmp_path):
    project = opened("bom-crlf", tmp_path)
    bundles = []
    for file in ("recipe.yaml", "recipe.toml"):
        files = {path: data for path, data in project.compile(file).files.items() if path.startswith("rank-")}
        assert files["rank-0-spark-a/launch.sh"].startswith(b"#!/bin/sh\n")
        assert not any(b"\r" in data or b"\xef\xbb\xbf" in data for data in files.values())
        bundles.append(files)
    assert bundles[0] == bundles[1]


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("~otheruser/x", "/x", "SPK342"),
        ("models", "/x", "SPK342"),
        ("./models", "/x", "SPK342"),
        ("/data/../etc", "/x", "SPK342"),
        ("/data/other", "/models/", "SPK341"),
        ("/data/other", "/a/../models", "SPK343"),
        ("/data/other", "/sparkc", "SPK344"),
        ("", "/x", "SPK340"),
    ],
)
def test_mounts_that_would_surprise_are_errors(source, target, code, project):
    project.write("recipe.yaml", RECIPE + "mounts:\n  - {source: /data/models, target: /models}\n")
    outcome = project.compile("recipe.yaml", volumes=(f"{source}:{target}",))
    assert {error.code for error in outcome.errors} == {code}


@pytest.mark.parametrize("source", ["~otheruser/x", "models", "''"])
def test_a_recipe_s_own_bad_mount_is_located(source, project):
    project.write("recipe.yaml", RECIPE + f"mounts:\n  - source: {source}\n    target: /x\n")
    errors = project.compile("recipe.yaml").errors
    assert [error.span.line for error in errors] == [RECIPE.count("\n") + 2]


def test_a_dollar_in_the_probe_stays_one(project, tmp_path):
    project.write("recipe.yaml", RECIPE + "health: {path: '/health?x=$HOME&y=$$'}\n")
    outcome = project.compile("recipe.yaml")
    bundle = unpack(outcome, tmp_path / "bundle")
    head, worker = (service(bundle / folder, HOME="/leak") for folder in outcome.folders)
    assert "/health?x=$HOME&y=$$" in " ".join(head["healthcheck"]["test"]).replace("\\", "")
    assert worker["healthcheck"] == {"disable": True}


def test_homes_are_those_of_the_nodes(project, tmp_path):
    project.write("inventory.yaml", inventory(2, n1="user: root", n2="home: '/srv/b$b é'"))
    project.write("recipe.yaml", RECIPE)
    outcome = project.compile("recipe.yaml", volumes=("~/models:/models:ro",))
    ranks, bundle = outcome.folders, unpack(outcome, tmp_path / "bundle")
    sources = [{mount["target"]: mount["source"] for mount in service(bundle / folder)["volumes"]} for folder in ranks]
    assert [found["/models"] for found in sources] == ["/root/models", "/srv/b$b é/models"]
    assert [found["/root/.triton"] for found in sources] == ["/root/.triton", "/srv/b$b é/.triton"]
