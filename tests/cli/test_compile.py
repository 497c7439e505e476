"""``sparkc compile`` as a user meets it: what it writes, what it says, what it returns."""

from __future__ import annotations

import json

import pytest


def test_a_recipe_becomes_one_folder_per_rank(project):
    outcome = project.run("compile", "tiny")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "out/tiny: 2 rank(s) on spark-a, spark-b (8 written, 0 removed, 0 unchanged)\n"
        "read out/tiny/README.md first, then commit the folder\n"
    )
    assert set(project.files()) == {
        ".gitattributes",
        "tiny/README.md",
        "tiny/bundle.json",
        *(
            f"tiny/rank-{n}-spark-{c}/{name}"
            for n, c in ("0a", "1b")
            for name in ("compose.yaml", "launch.sh", "rank.env")
        ),
    }


def test_compiling_again_changes_nothing(project):
    project.run("compile", "tiny")
    before = project.files()

    outcome = project.run("compile", "tiny")

    assert outcome.out == "out/tiny: 2 rank(s) on spark-a, spark-b (0 written, 0 removed, 8 unchanged)\n"
    assert project.files() == before


def test_a_recipe_that_needs_fewer_nodes_than_given_says_which_it_uses(project):
    outcome = project.run("compile", "tiny", "--nodes", "3")

    assert outcome.code == 0
    assert "recipe needs 2 node(s) (tp=2 × pp=1 × dp=1); using 2 of 3: spark-a, spark-b" in outcome.err


def test_nodes_are_taken_in_the_order_named(project):
    outcome = project.run("compile", "tiny", "--nodes", "spark-c,spark-a")

    assert "2 rank(s) on spark-c, spark-a" in outcome.out
    assert "tiny/rank-0-spark-c/launch.sh" in project.files()


def test_more_nodes_than_there_are_write_nothing(project):
    outcome = project.run("compile", "tiny", "--tp", "4")

    assert outcome.code == 1
    assert (
        "error[SPK384]: recipe needs 4 node(s) (tp=4 × pp=1 × dp=1); only 3 given: spark-a, spark-b, spark-c"
        in outcome.err
    )
    assert not (project.root / "out").exists()


def test_flags_and_engine_arguments_are_recorded_and_reproduced(project):
    compiled = project.run("compile", "tiny", "--port", "9000", "--set", "ctx=99", "-e", "A=b=c", "--", "--seed", "1")
    record = json.loads(project.files()["tiny/bundle.json"])["overrides"]
    launch = project.files()["tiny/rank-0-spark-a/launch.sh"].decode()

    assert compiled.code == 0
    assert record == {"port": 9000, "set": [["ctx", "99"]], "env": [["A", "b=c"]], "arguments": ["--seed", "1"]}
    assert "'--port' \\\n  '9000'" in launch
    assert "'--max-model-len' \\\n  '99'" in launch
    assert "'--seed' \\\n  '1'" in launch
    assert project.run("compile", "--check").code == 0
    before = project.files()
    assert project.run("compile", "--all").code == 0
    assert project.files() == before


def test_check_shows_the_difference_and_the_command_that_fixes_it(project):
    project.run("compile", "tiny")
    project.write("recipes/tiny.yaml", (project.root / "recipes/tiny.yaml").read_text().replace('"4096"', '"8192"'))
    before = project.files()

    outcome = project.run("compile", "--check")

    assert outcome.code == 1
    assert "-  '4096'" in outcome.out
    assert "+  '8192'" in outcome.out
    assert outcome.err == "1 of 1 bundle(s) are stale: tiny; type: sparkc compile --all\n"
    assert project.files() == before
    assert project.run("compile", "--all").code == 0
    assert project.run("compile", "--check").out == "1 bundle(s) are what compile makes\n"


def test_check_reports_a_bundle_whose_recipe_is_gone(project):
    project.run("compile", "tiny")
    (project.root / "recipes/tiny.yaml").unlink()

    outcome = project.run("compile", "--check")

    assert outcome.code == 1
    assert "error[SPK702]: tiny was compiled from recipes/tiny.yaml, which does not exist any more" in outcome.err


def test_a_bundle_of_a_recipe_from_outside_is_recorded_by_name_and_hash(project, tmp_path_factory):
    outside = tmp_path_factory.mktemp("elsewhere") / "mine.yaml"
    outside.write_text((project.root / "recipes/tiny.yaml").read_text().replace("name: tiny", "name: mine"))

    first = project.run("compile", str(outside))

    assert first.code == 0
    assert "warning[SPK707]: mine.yaml lies outside the project" in first.err
    assert f"help: cp {outside} recipes/, then compile it from there with --force" in first.err
    recipe = json.loads(project.files()["mine/bundle.json"])["recipe"]
    assert recipe["name"] == "mine.yaml"
    assert len(recipe["sha256"]) == 64
    assert all(str(outside.parent).encode() not in data for data in project.files().values())
    outcome = project.run("compile", "--check")
    assert outcome.code == 1
    assert "error[SPK701]: mine was compiled from mine.yaml, which lies outside the project" in outcome.err


def test_the_project_is_found_from_a_folder_below(project, monkeypatch):
    monkeypatch.chdir(project.root / "recipes")

    outcome = project.run("compile", "tiny")

    assert outcome.code == 0
    assert (project.root / "out/tiny/bundle.json").is_file()
    assert json.loads(project.files()["tiny/bundle.json"])["recipe"] == {"path": "recipes/tiny.yaml"}


def test_errors_name_the_file_by_the_path_from_here(project, monkeypatch):
    project.write("recipes/bad.yaml", "sparkc: 1\nname: bad\nimagee: x\n")
    monkeypatch.chdir(project.root / "recipes")

    outcome = project.run("compile", "bad")

    assert outcome.code == 1
    assert outcome.err.startswith("bad.yaml:")


def test_problems_of_recipe_and_inventory_come_in_one_run(project):
    project.write("inventory.yaml", (project.root / "inventory.yaml").read_text().replace("topology", "topologyy"))
    project.write("recipes/tiny.yaml", (project.root / "recipes/tiny.yaml").read_text().replace("image:", "imagee:"))

    outcome = project.run("compile", "tiny")

    assert "unknown key 'topologyy'" in outcome.err
    assert "unknown key 'imagee'" in outcome.err


def test_a_missing_mod_hides_no_other_problem(project):
    recipe = project.root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text().replace("tensor: 2", "tensor: 4") + "mods: [gone, gone]\n")

    outcome = project.run("compile", "tiny", "--format", "json")

    codes = [diagnostic["code"] for diagnostic in json.loads(outcome.out)["diagnostics"]]
    assert (outcome.code, codes) == (1, ["SPK512", "SPK512", "SPK384"])
    assert not (project.root / "out").exists()


def test_a_missing_mod_alone_fails_and_writes_nothing(project):
    outcome = project.run("compile", "tiny", "--mod", "gone")

    assert (outcome.code, "error[SPK512]" in outcome.err) == (1, True)
    assert not (project.root / "out").exists()


def test_a_recipe_of_the_catalogue_is_shown_by_its_name(empty):
    outcome = empty.run("compile", "minimax-m2.5-awq", "--nodes", "1")

    assert outcome.code == 1
    assert "\nsparkc:minimax-m2.5-awq.yaml:" in outcome.err
    assert "/minimax-m2.5-awq.yaml" not in outcome.err


def test_a_chosen_inventory_names_the_bundle_after_it(project):
    project.write("sites/home.yaml", (project.root / "inventory.yaml").read_text().replace("name: lab", "name: home"))

    assert project.run("compile", "tiny", "--inventory", "sites/home.yaml").code == 0

    assert json.loads(project.files()["tiny-home/bundle.json"])["inventory"] == {"path": "sites/home.yaml"}
    assert project.run("compile", "--check").code == 0


def test_without_an_inventory_the_example_is_used_and_said(empty):
    outcome = empty.run("compile", "minimax-m2.5-awq")

    assert outcome.code == 0
    assert "note[SPK704]: there is no inventory.yaml" in outcome.err
    assert "sparkc init" in outcome.err
    [bundle] = [name for name in empty.files() if name.endswith("bundle.json")]
    assert json.loads(empty.files()[bundle])["recipe"] == {"path": "sparkc:minimax-m2.5-awq.yaml"}
    assert empty.run("compile", "--check").code == 0


def test_addresses_make_an_inventory_of_their_own(empty):
    empty.write(
        "recipes/tiny.yaml", "sparkc: 1\nname: tiny\nengine: vllm\nimage: i:1\nmodel: o/m\nparallel: {tensor: 2}\n"
    )

    outcome = empty.run(
        "compile",
        "tiny",
        "--nodes",
        "10.1.1.1,10.1.1.2",
        "--user",
        "me",
        "--eth-if",
        "eth9",
        "--ib-if",
        "rocep1s0f0,roceP2p1s0f0",
    )

    assert outcome.code == 0
    env = empty.files()["tiny/rank-1-node-2/rank.env"].decode()
    assert "NCCL_SOCKET_IFNAME=eth9\n" in env
    assert "VLLM_HOST_IP=10.1.1.2\n" in env
    assert empty.run("compile", "--check").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which recipe? `sparkc list` shows them"),
        (("a", "b"), "name one recipe"),
        (("tiny", "-e", "HOME"), "the environment is no input: write KEY=VALUE"),
        (("tiny", "--set", "ctx"), "write KEY=VALUE"),
        (("tiny", "--gpu-mem", "high"), "'high' is not a number"),
        (("tiny", "--name", ""), "'': a name needs a letter or a digit"),
        (("tiny", "--name", "/./"), "a name needs a letter or a digit"),
        (("tiny", "--port", "0"), "0 is not in the range"),
        (("--check", "--port", "9000"), "--check and --all take what bundle.json records"),
    ],
)
def test_usage_errors_exit_with_2(project, arguments, message):
    outcome = project.run("compile", *arguments)

    assert outcome.code == 2
    assert message in outcome.err


def test_json_and_github_formats_go_to_standard_output(project):
    project.write("recipes/bad.yaml", "sparkc: 1\nname: bad\nengine: vllm\nimage: i:1\nmodel: o/m\nport: many\n")

    as_json = project.run("compile", "bad", "--format", "json")
    as_github = project.run("compile", "bad", "--format", "github")

    [error] = json.loads(as_json.out)["diagnostics"]
    assert (as_json.code, error["file"], error["line"], error["severity"]) == (1, "recipes/bad.yaml", 6, "error")
    assert as_github.out.startswith("::error file=recipes/bad.yaml,line=6,")


def test_verify_lets_compose_read_every_file(project):
    assert project.run("compile", "tiny", "--verify").code == 0
    compose = project.root / "out/tiny/rank-1-spark-b/compose.yaml"
    compose.write_text(compose.read_text() + "oops: true\n")

    outcome = project.run("compile", "--check", "--verify")

    assert outcome.code == 1
    assert "+++ " in outcome.out or "oops" in outcome.out


def test_a_hand_edit_is_refused_by_name_unless_forced(project):
    project.run("compile", "tiny")
    edited = project.root / "out/tiny/rank-0-spark-a/rank.env"
    edited.write_text(edited.read_text() + "EXTRA=1\n")

    refused = project.run("compile", "tiny")
    forced = project.run("compile", "tiny", "--force")

    assert refused.code == 1
    assert "rank-0-spark-a/rank.env" in refused.err
    assert "--force" in refused.err
    assert forced.code == 0
    assert "EXTRA" not in edited.read_text()
