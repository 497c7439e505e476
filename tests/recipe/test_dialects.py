"""Which dialect reads a file, and what is said of files that none reads."""

import pytest

from sparkc.diagnostics import Report
from sparkc.recipe.dialects import read_recipe_file

V1 = 'name: x\nrecipe_version: "1"\ncontainer: c\ncommand: vllm serve m\n'


def read(name, text):
    report = Report()
    return read_recipe_file(name, text.encode(), report), report


@pytest.mark.parametrize(
    ("name", "text", "dialect"),
    [
        ("a.yaml", V1, "spark-vllm-docker"),
        ("a.yaml", V1.replace('"1"', "1"), "spark-vllm-docker"),
        ("a.toml", 'engine = "vllm"\ndocker_image = "i"\nmodel = "m"\n', "sm121"),
        ("a.yaml", "engine: vllm\ndocker_image: i\nmodel: m\n", "sm121"),
        ("a.yaml", "sparkc: 1\nname: aa\nengine: vllm\nimage: i\nmodel: org/m\n", "native"),
    ],
)
def test_the_first_dialect_that_matches_reads(name, text, dialect):
    recipe, _ = read(name, text)
    assert recipe.dialect == dialect


@pytest.mark.parametrize(
    "text",
    [
        V1 + "runtime: vllm\nmodel: m\n",
        V1.replace("serve m", "serve {model}") + "model: m\n",
        V1.replace('"1"', '"2"') + "model: m\n",
        V1.replace('recipe_version: "1"\n', "") + "model: m\n",
        "recipe_version: 2\nmodel: m\ncontainer: c\n",
    ],
)
def test_sparkrun_recipes_are_not_read_by_other_rules(text):
    recipe, report = read("a.yaml", text)
    assert recipe.dialect == "sparkrun"
    assert not report.failed


def test_launch_scripts_are_recognised_by_name():
    recipe, _ = read("run.sh", "#!/bin/bash\nvllm serve m\n")
    assert recipe.dialect == "launch-script"
    recipe, report = read("run.SH", "sparkc: 1\n\x00")
    assert recipe is None
    assert report.failed


@pytest.mark.parametrize("text", ["services:\n  a: {}\n", "name: x\nrecipes: []\n"])
def test_other_files_are_told_what_a_recipe_needs(text):
    recipe, report = read("compose.yaml", text)
    assert recipe is None
    (found,) = report.diagnostics
    assert (found.code, found.span.line) == ("SPK130", 1)
    assert "compose.yaml is not a recipe" in found.message
    assert "recipe_version" in found.hint


def test_a_file_that_cannot_be_read_is_no_recipe():
    recipe, report = read("a.yaml", "a: [")
    assert recipe is None
    assert report.failed
