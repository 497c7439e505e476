"""``sparkc compile --check``: each cause with its own remedy, in every format."""

from __future__ import annotations

import json

import pytest

ENV = "out/tiny/rank-0-spark-a/rank.env"
AGAIN = "sparkc compile --all tiny"


def change_recipe(project):
    recipe = project.root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text().replace('"4096"', '"8192"'))


def edit(project):
    path = project.root / ENV
    path.write_text(path.read_text() + "EXTRA=1\n")


def put_a_link(project):
    (project.root / ENV).unlink()
    (project.root / ENV).symlink_to(project.root / "inventory.yaml")


def add_a_file(project):
    project.write("out/tiny/my notes.txt", "x\n")


def interrupt(project):
    project.write("out/tiny/.sparkc-writing", "{}")
    edit(project)


CAUSES = [
    (change_recipe, "SPK606", AGAIN, "are stale: tiny; type: sparkc compile --all"),
    (lambda project: (project.root / ENV).unlink(), "SPK606", AGAIN, "are stale: tiny; type: sparkc compile --all"),
    (
        edit,
        "SPK602",
        f"{AGAIN} --force",
        "were edited by hand: tiny; undo that, or lose it: sparkc compile --all --force",
    ),
    (put_a_link, "SPK603", f"move it away, then {AGAIN}", "have something in the way of a file: tiny; move it away"),
    (add_a_file, "SPK607", "rm 'out/tiny/my notes.txt'", "hold files that compile does not make: tiny; remove them"),
    (interrupt, "SPK606", AGAIN, "are stale: tiny; type: sparkc compile --all"),
    (
        lambda project: (project.root / "recipes/tiny.yaml").unlink(),
        "SPK702",
        "restore it, or remove tiny",
        "cannot be compiled again: tiny",
    ),
]


@pytest.fixture
def compiled(project):
    project.run("compile", "tiny")
    return project


@pytest.mark.parametrize(("fault", "code", "remedy", "closing"), CAUSES)
def test_each_cause_has_its_remedy(compiled, fault, code, remedy, closing):
    fault(compiled)
    before = compiled.files()

    outcome = compiled.run("compile", "--check", "--format", "json")

    found = [each for each in json.loads(outcome.out)["diagnostics"] if each["code"] != "SPK605"]
    assert {(each["code"], each["severity"]) for each in found} == {(code, "error")}
    assert all(remedy in each["hint"] for each in found)
    assert (outcome.code, outcome.err) == (1, f"1 of 1 bundle(s) {closing}\n")
    assert compiled.files() == before


@pytest.mark.parametrize("fault", [change_recipe, lambda project: (project.root / ENV).unlink(), edit, add_a_file])
def test_the_remedy_puts_it_right(compiled, fault):
    fault(compiled)
    (hint,) = {
        each["hint"].rpartition(": ")[2]
        for each in json.loads(compiled.run("compile", "--check", "--format", "json").out)["diagnostics"]
    }
    if hint.startswith("rm "):
        (compiled.root / hint.removeprefix("rm ").strip("'")).unlink()
    else:
        assert compiled.run(*hint.split()[1:]).code == 0

    assert compiled.run("compile", "--check").code == 0


def test_github_gets_an_annotation_per_file_and_no_diff(compiled):
    edit(compiled)

    lines = compiled.run("compile", "--check", "--format", "github").out.splitlines()

    assert [line.partition("::tiny")[0] for line in lines] == [
        f"::error file={ENV},line=1,col=1,endColumn=1,title=SPK602",
        "sparkc: 1 error",
    ]


def test_text_shows_the_diff_and_says_once_that_a_bundle_is_stale(compiled):
    change_recipe(compiled)
    add_a_file(compiled)

    outcome = compiled.run("compile", "--check")

    assert "\n-  '4096' " in outcome.out
    assert outcome.err == (
        "out/tiny/my notes.txt:1:1: error[SPK607]: tiny/my notes.txt is nothing that compile makes\n"
        "  help: rm 'out/tiny/my notes.txt'\n\n1 error\n"
        "1 of 1 bundle(s) are stale: tiny; type: sparkc compile --all\n"
        "1 of 1 bundle(s) hold files that compile does not make: tiny; remove them\n"
    )


def test_a_clean_check_is_valid_json_too(compiled):
    outcome = compiled.run("compile", "--check", "--format", "json")

    assert (outcome.code, json.loads(outcome.out)["diagnostics"]) == (0, [])


def test_all_prints_one_object_for_all_bundles(compiled):
    compiled.run("compile", "tiny", "--name", "other")
    edit(compiled)
    (compiled.root / "out/other/bundle.json").write_text("{")

    outcome = compiled.run("compile", "--all", "--format", "json")

    assert outcome.code == 1
    assert {each["file"] for each in json.loads(outcome.out)["diagnostics"]} == {
        "out/other/bundle.json",
        "out/tiny/bundle.json",
    }


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["compile", "tinyy"], "there is no file and no recipe 'tinyy'", "did you mean 'tiny'?"),
        (["compile", "--check", "tinyy"], "'tinyy' is not a bundle", "`sparkc compile RECIPE` makes one"),
        (["check", "tinyy"], "there is no file and no recipe 'tinyy'", "did you mean 'tiny'?"),
        (["show", "tinyy"], "there is no file and no recipe 'tinyy'", "did you mean 'tiny'?"),
    ],
)
def test_what_fails_in_the_world_is_printed_in_the_format(project, arguments, message, hint):
    as_json = project.run(*arguments, "--format", "json")
    as_github = project.run(*arguments, "--format", "github")
    as_text = project.run(*arguments)

    (error,) = json.loads(as_json.out)["diagnostics"]
    assert (as_json.code, error["code"], error["file"], error["hint"]) == (1, "SPK706", None, hint)
    assert error["message"].startswith(message)
    assert (as_github.code, as_github.out.startswith(f"::error title=SPK706::{message}")) == (1, True)
    assert (as_text.code, as_text.out, as_text.err.startswith(message)) == (1, "", True)
