"""``sparkc convert``, and the original of a recipe that compile and check compare it with."""

from __future__ import annotations

import pytest

V1 = """\
# About it.
recipe_version: "1"
name: Demo
container: org/image:1   # ours
mods: [mods/here, mods/there]
unheard: 1
command: vllm serve org/model --port 8000 -tp 2
"""

CONVERTED = """\
# yaml-language-server: $schema=../schemas/recipe.schema.json
# About it.
# unknown key 'unheard'
sparkc: 1
name: old
description: Demo
engine: vllm
image: org/image:1  # ours
model: org/model
mods:
  - there
args:
  - --port
  - 8000
  - -tp
  - 2
"""


def test_the_native_recipe_goes_to_standard_output(project):
    project.write("old.yaml", V1.replace("mods/here, ", ""))
    before = project.files(".")

    outcome = project.run("convert", "old.yaml")

    assert (outcome.code, outcome.out) == (0, CONVERTED)
    assert "old.yaml:6:1: warning[SPK020]: unknown key 'unheard'" in outcome.err
    assert project.files(".") == before


def test_the_output_file_is_new_or_forced(project):
    project.write("old.yaml", V1.replace("mods/here, ", ""))
    kept = project.write("recipes/new.yaml", "mine")

    refused = project.run("convert", "old.yaml", "--output", "recipes/new.yaml")
    assert (refused.code, refused.out, kept.read_text()) == (1, "", "mine")
    assert "recipes/new.yaml exists" in refused.err
    assert "--force" in refused.err

    forced = project.run("convert", "old.yaml", "--output", "recipes/new.yaml", "--force")
    assert (forced.code, forced.out, kept.read_text()) == (0, "", CONVERTED)
    assert "next: sparkc compile recipes/new.yaml" in forced.err

    fresh = project.run("convert", "old.yaml", "--output", "a/b.yaml")
    assert (fresh.code, (project.root / "a/b.yaml").read_text()) == (0, CONVERTED)


@pytest.mark.parametrize("options", [("--to", "toml"), ("--output", "new.toml")])
def test_toml_is_chosen_by_option_or_suffix(project, options):
    project.write("old.yaml", V1)

    outcome = project.run("convert", "old.yaml", *options)

    text = outcome.out or (project.root / "new.toml").read_text()
    assert text.startswith("#:schema ../schemas/recipe.schema.json\n# About it.\n")
    assert 'image = "org/image:1"  # ours\n' in text
    assert 'args = [\n  "--port",\n  "8000",\n' in text


def test_a_mod_beside_the_recipe_keeps_its_path(project):
    project.write("lib/old.yaml", V1)
    project.write("lib/mods/here/run.sh", "#!/bin/sh\n")

    assert "mods:\n  - mods/here\n  - there\n" in project.run("convert", "lib/old.yaml").out


def test_a_launch_script_becomes_a_recipe(project):
    project.write("run.sh", "#!/bin/bash\n# DESCRIPTION: Serves it\nvllm serve org/model --port 8000  # the port\n")

    outcome = project.run("convert", "run.sh")

    assert outcome.code == 0
    assert "# DESCRIPTION: Serves it\n" in outcome.out
    assert "description: Serves it\n" in outcome.out
    assert "  - 8000  # the port\n" in outcome.out
    assert "a launch script names no image" in outcome.out


def test_nothing_is_written_for_a_command_that_needs_a_shell(project):
    project.write("run.sh", "cd /models\nvllm serve ./x\n")

    outcome = project.run("convert", "run.sh", "--output", "new.yaml")

    assert (outcome.code, outcome.out, (project.root / "new.yaml").exists()) == (1, "", False)
    assert "run.sh:1:1: error[SPK160]: this command needs a shell and stays a script" in outcome.err
    assert "compile this file as it is" in outcome.err


def test_toml_cannot_say_null(project):
    project.write("old.yaml", V1 + "env: {A: 1, B: null}\n")

    outcome = project.run("convert", "old.yaml", "--to", "toml")

    assert (outcome.code, outcome.out) == (1, "")
    assert "old.yaml:8:13: error[SPK160]: env.B is null, which TOML cannot say" in outcome.err
    assert project.run("convert", "old.yaml").out.endswith("env:\n  A: 1\n  B: null\n")


def test_what_cannot_be_read_is_not_converted(project):
    project.write("old.yaml", "a: [\n")

    outcome = project.run("convert", "old.yaml")

    assert (outcome.code, outcome.out) == (1, "")
    assert "error[SPK004]" in outcome.err


NATIVE = """\
sparkc: 1
name: mine
engine: vllm
image: org/image:2
model: org/model
port: 8000
parallel: {tensor: 2}
derived_from: {source: SOURCE}
"""


@pytest.fixture
def derived(project):
    """A project with an original, and a recipe that changes its image."""
    project.write("recipes/old.yaml", V1.replace("mods: [mods/here, mods/there]\nunheard: 1\n", ""))

    def write(source="old.yaml", *lines):
        project.write("recipes/mine.yaml", NATIVE.replace("SOURCE", source) + "".join(f"{line}\n" for line in lines))
        return project

    return write


@pytest.mark.parametrize("command", [("check", "recipes/mine.yaml"), ("compile", "mine")])
def test_an_undeclared_difference_is_an_error(derived, command):
    outcome = derived().run(*command)

    assert outcome.code == 1
    assert "recipes/mine.yaml:4:8: error[SPK390]: image differs from old.yaml: org/image:2 here, org/image:1 there" in (
        outcome.err
    )
    assert "add {key: image, reason: …} to deviations" in outcome.err


@pytest.mark.parametrize("source", ["old.yaml", "recipes/old.yaml"])
def test_declared_differences_are_shown_in_the_readme(derived, source):
    project = derived(source, "deviations: [{key: image, reason: newer}]")

    outcome = project.run("compile", "mine")

    assert outcome.code == 0, outcome.err
    readme = project.files()["mine/README.md"].decode()
    assert f"- Derived from (source): {source}" in readme.replace("\\", "")
    assert "- Differs on purpose in `image`: newer" in readme
    assert "SPK392" not in readme


@pytest.mark.parametrize("source", ["https://example.org/old.yaml", "gone.yaml", "../inventory.yaml", "'a b'"])
def test_an_original_that_is_not_here_proves_nothing(derived, source):
    project = derived(source)

    outcome = project.run("compile", "mine", "--nodes", "2")

    assert outcome.code == 0, outcome.err
    assert "SPK392: the deviations were not compared with" in project.files()["mine/README.md"].decode().replace(
        "\\", ""
    )


def test_an_original_that_does_not_compile_is_a_warning(derived):
    project = derived()
    project.write("recipes/old.yaml", V1.replace("8000", "{port}"))

    outcome = project.run("check", "recipes/mine.yaml")

    assert outcome.code == 0
    assert "warning[SPK392]: old.yaml does not compile, so the list of deviations was not compared" in outcome.err
