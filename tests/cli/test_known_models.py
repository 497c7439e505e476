"""Facts about models in the project's models/: saved by fit, read by compile, check and fit."""

from __future__ import annotations

import json

import pytest

from sparkc.cli import options
from sparkc.cli.fit import command
from sparkc.planning.overrides import Overrides
from support.fit_models import DENSE

REVISION = "b" * 40  # of the project's recipe
FACTS = "sparkc_model: 1\nweights_bytes: %d\nconfig: " + json.dumps(DENSE) + "\n"
SMALL = FACTS % 80_000_000_000
LARGE = FACTS % 240_000_000_000
FILE = "models/org--model.yaml"
INDEX = {"metadata": {"total_size": 80_000_000_000}}


def memory_line(project, name="tiny"):
    """The line about memory in a bundle's README, "" without one."""
    lines = (project.root / "out" / name / "README.md").read_text().splitlines()
    return next((line for line in lines if line.startswith("- Memory:")), "")


def put(project, folder, config, index):
    for name, value in (("config.json", config), ("model.safetensors.index.json", index)):
        project.write(f"{folder}/{name}", json.dumps(value))


def test_the_readme_tells_what_is_known(project):
    project.write(FILE, SMALL)
    outcome = project.run("compile", "tiny", "--max-model-len", "2048")

    assert (outcome.code, outcome.err) == (0, "")
    line = memory_line(project)
    assert line.startswith("- Memory: it fits (37.25 GiB of weights on the tightest rank, a KV cache for ")
    assert " sequences of 2,048; estimated: weights, activations, " in line
    assert line.endswith("); `sparkc fit recipes/tiny.yaml --max-model-len 2048` shows the sum")
    tokens = line.split("cache for ")[1].split(" tokens")[0]
    shown = project.run("fit", "recipes/tiny.yaml", "--max-model-len", "2048")
    assert f"It holds {tokens} tokens" in shown.out


def test_without_facts_nothing_is_said_and_another_models_file_changes_nothing(project):
    project.run("compile", "tiny")
    before = project.files()
    project.write("models/org--other.yaml", SMALL)

    assert project.run("compile", "tiny").code == 0
    assert memory_line(project) == ""
    assert project.files() == before


def test_a_recipe_that_does_not_fit_is_a_located_warning(project):
    project.write(FILE, LARGE)
    outcome = project.run("compile", "tiny", "--nodes", "spark-b,spark-c")

    assert outcome.code == 0
    assert "recipes/tiny.yaml:5:8: warning[SPK725]: this does not fit: rank 0 on spark-b: " in outcome.err
    assert "(and " in outcome.err
    assert memory_line(project).startswith("- Memory: **it does not fit** (111.76 GiB of weights")
    assert "SPK725" in (project.root / "out/tiny/README.md").read_text()


def test_check_and_all_read_the_facts(project):
    project.run("compile", "tiny")
    project.write(FILE, SMALL)
    stale = project.run("compile", "--check")

    assert stale.code == 1
    assert "+- Memory: it fits" in stale.out
    assert project.run("compile", "--all").code == 0
    assert memory_line(project) != ""
    assert project.run("compile", "--check").code == 0
    project.write(FILE, LARGE)
    assert project.run("compile", "--check").code == 1


def test_check_diagnoses_facts_and_notes_that_example_nodes_are_too_small(project):
    project.write(FILE, LARGE)
    outcome = project.run("check", "recipes/tiny.yaml", FILE)

    assert outcome.code == 0
    assert "note[SPK725]: this does not fit" in outcome.err
    project.write(FILE, LARGE.replace("weights_bytes", "weight_bytes"))
    outcome = project.run("check", FILE)
    assert outcome.code == 1
    assert f"{FILE}:2:1: error[SPK020]" in outcome.err


def test_a_broken_file_stops_the_compile_where_it_is_wrong(project):
    project.write(FILE, "sparkc_model: 1\nweights_bytes: many\nconfig: {}\n")
    outcome = project.run("compile", "tiny")

    assert outcome.code == 1
    assert f"{FILE}:2:" in outcome.err
    assert not (project.root / "out").exists()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("model: /cache/hub/models--org--model/snapshots/abc", "org--model"),
        ("model: /cache/models--org--model/snapshots/abc/inner/fp8/", "org--model--inner--fp8"),
        ("model: /models/here\nparent_model: org/parent", "org--parent"),
        ("model: /cache/models--org--model/snapshots/abc\nparent_model: org/parent", "org--model"),
        ("model: /cache/models--org--model/snapshots/abc\nparent_model: org/parent", "org--parent"),
    ],
)
def test_the_model_is_known_by_its_repository(project, model, name):
    recipe = (project.root / "recipes/tiny.yaml").read_text().replace("model: org/model", model)
    project.write("recipes/tiny.yaml", recipe)
    project.write(f"models/{name}.yaml", SMALL)

    assert project.run("compile", "tiny").code == 0
    assert memory_line(project).startswith("- Memory: it fits")


@pytest.mark.parametrize("model", ["/models/here", "org/../model", f"org/{'m' * 300}", "model"])
def test_a_name_that_is_no_file_of_facts_has_none(project, model):
    recipe = (project.root / "recipes/tiny.yaml").read_text().replace("model: org/model", f"model: {model}")
    project.write("recipes/tiny.yaml", recipe)
    project.write(FILE, SMALL)

    assert project.run("compile", "tiny").code == 0
    assert memory_line(project) == ""


def test_what_the_formulas_do_not_cover_is_a_note(project):
    recipe = (project.root / "recipes/tiny.yaml").read_text()
    config = "{method: eagle3, model: org/draft, num_speculative_tokens: 2}"
    project.write("recipes/tiny.yaml", f"{recipe}json_args:\n  --speculative-config: {config}\n")
    project.write(FILE, SMALL)
    outcome = project.run("compile", "tiny")

    assert outcome.code == 0
    assert "note[SPK720]: nothing is known about the draft model org/draft" in outcome.err
    assert memory_line(project) == ""
    project.write("models/org--draft.yaml", FACTS % 2_000_000_000)
    outcome = project.run("compile", "tiny")
    assert "SPK720" not in outcome.err
    assert "draft (eagle3)" in memory_line(project)


def test_an_engine_without_formulas_has_no_line(project):
    project.write(
        "recipes/other.yaml",
        f"sparkc: 1\nname: other\nengine: llama-cpp\nimage: img@sha256:{'a' * 64}\nmodel: org/model\n",
    )
    project.write(FILE, SMALL)

    assert project.run("compile", "other").code == 0
    assert memory_line(project, "other") == ""


def test_save_keeps_what_the_cache_says(project):
    put(project, f"hub/models--org--model/snapshots/{REVISION}", {**DENSE, "id2label": {"0": "x"}}, INDEX)
    first = project.run("fit", "tiny", "--hf-cache", "hub", "--save", "--json")

    assert first.code == 0
    assert first.err == f"wrote {FILE}\n"
    assert "id2label" not in (project.root / FILE).read_text()
    again = project.run("fit", "tiny", "--json")
    assert [line["bytes"] for line in json.loads(again.out)["ranks"][0]["lines"]] == [
        line["bytes"] for line in json.loads(first.out)["ranks"][0]["lines"]
    ]
    assert project.run("fit", "tiny", "--hf-cache", "hub", "--save").code == 0
    assert project.run("compile", "tiny").code == 0
    assert memory_line(project).startswith("- Memory: it fits")


def test_save_keeps_a_draft_in_a_file_of_its_own(project):
    snapshot = f"hub/models--org--model/snapshots/{REVISION}"
    put(project, snapshot, DENSE, INDEX)
    put(project, f"{snapshot}/dflash", {**DENSE, "num_hidden_layers": 2}, {"metadata": {"total_size": 4000}})
    recipe = (project.root / "recipes/tiny.yaml").read_text()
    draft = f"/root/.cache/huggingface/{snapshot}/dflash"
    config = f'{{method: dflash, model: "{draft}", num_speculative_tokens: 4}}'
    project.write("recipes/tiny.yaml", f"{recipe}json_args:\n  --speculative-config: {config}\n")
    outcome = project.run("fit", "tiny", "--hf-cache", "hub", "--save", "--json")

    assert outcome.code == 0, outcome.err
    assert sorted(path.name for path in (project.root / "models").iterdir()) == [
        "org--model--dflash.yaml",
        "org--model.yaml",
    ]
    assert json.loads(project.run("fit", "tiny", "--json").out)["ranks"][0]["bytes_per_token"] == (4 + 2) * 128


def test_save_leaves_a_file_alone_that_says_something_else(project):
    put(project, f"hub/models--org--model/snapshots/{REVISION}", DENSE, INDEX)
    project.write(FILE, LARGE)
    outcome = project.run("fit", "tiny", "--hf-cache", "hub", "--save")

    assert outcome.code == 1
    assert "is there already and says something else" in outcome.err
    assert (project.root / FILE).read_text() == LARGE


def test_save_needs_a_cache(project):
    outcome = project.run("fit", "tiny", "--save")

    assert outcome.code == 2
    assert "--save keeps what --hf-cache DIR says" in outcome.err


@pytest.mark.parametrize(
    ("size", "loader", "warned"),
    [
        (220_000_000_000, "fastsafetensors", True),  # 102.45 GiB a rank; 0.85 of 119.7 is 101.745
        (218_000_000_000, "fastsafetensors", False),  # 101.51 GiB
        (220_000_000_000, "safetensors", False),
    ],
)
def test_weights_too_large_for_fastsafetensors(project, size, loader, warned):
    recipe = (project.root / "recipes/tiny.yaml").read_text()
    project.write("recipes/tiny.yaml", recipe.replace('"{ctx}"]', f'"{{ctx}}", --load-format, {loader}]'))
    project.write(FILE, FACTS % size)
    for name in ("compile", "fit"):
        outcome = project.run(name, "tiny")
        assert ("recipes/tiny.yaml:10:49" in outcome.err and "warning[SPK726]" in outcome.err) == warned
        assert ("0.85 of its 119.70 GiB" in outcome.err) == warned


def test_the_readmes_command_gives_every_override_again():
    values = {"nccl_debug": "WARN", "ray": False, "set": (("a", "b=c"),), "env": (("A", ""),), "gpu_mem": "0.90"}
    for field in Overrides.__match_args__:
        default = getattr(Overrides, field)
        sample = True if default is False else ("x", "y z") if default == () else "7"
        values.setdefault(field, sample)
    for field in ("port", "tp", "pp", "dp", "master_port", "pids_limit", "nofile", "jobs"):
        values[field] = 7
    for field in ("mem_limit_gb", "mem_swap_limit_gb", "shm_size_gb"):
        values[field] = 7
    given = Overrides(**values)
    context = command.make_context("fit", ["tiny", *given.options()])

    assert options.build_overrides(context, context.params) == given
