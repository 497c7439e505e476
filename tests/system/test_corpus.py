"""Public recipes against spark-vllm-docker itself: what its launcher starts is what our launch.sh starts.

Needs a folder of recipe files: SPARKC_CORPUS=/path pytest … The oracle below is that launcher's rendering, written
down again from what it does and run under the real bash; nothing of sparkc takes part in it.
"""

import os
import re
import shlex
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from system_tools import ProjectFolder, Stubs, inventory, service, unpack

from sparkc.errors import SparkcError
from sparkc.planning.model import Shell

CORPUS = Path(os.environ.get("SPARKC_CORPUS", "/nonexistent"))
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="SPARKC_CORPUS names no folder of public recipes")

# Files that rightly do not compile: path below the folder → (code, line of the first error, why).
REFUSED = {
    f"arekborek+b00b0-sparkrun/recipe-registry/{name}.yaml": ("SPK030", 1, "no name, and JSON in single braces")
    for name in ("prismascout_qwen3.6-27b-nvfp4", "redhatai_qwen3.6-35b-a3b-dflash-nvfp4")
}

HEAD, PORT = "10.77.0.1", "29501"
_SIZES = {
    "-tp": "tp",
    "--tensor-parallel-size": "tp",
    "-pp": "pp",
    "--pipeline-parallel-size": "pp",
    "-dp": "dp",
    "--data-parallel-size": "dp",
}
# Set by the shells that run the two scripts, or by us.
_SHELLS_OWN = {"_", "SHLVL", "PWD", "OLDPWD", "PATH", "SPARKC_OUT", "WORKSPACE_DIR"}


def load(path):
    """Values stay the author's text (0.90, 1e-5): the launcher prints Python's reading of them, we do not."""
    return yaml.load(path.read_text(), yaml.BaseLoader)


def is_v1(data):
    return (
        isinstance(data, dict)
        and data.get("recipe_version") == "1"
        and "runtime" not in data
        and "{model}" not in data["command"]
    )


def recipes():
    found = {}
    for path in sorted(CORPUS.rglob("*.yaml")):
        data = load(path)
        if is_v1(data):
            found[path.relative_to(CORPUS).as_posix()] = data
    return found


RECIPES = recipes() if CORPUS.is_dir() else {}


def rendered(data, *, solo):
    """Return the command as the launcher renders it: str.format, one node means one GPU, no executor backend."""
    parameters = dict(data.get("defaults") or {})
    if solo:
        parameters["tensor_parallel"] = "1"
    text = data["command"].format(**parameters).rstrip()
    text = re.sub(r"[\\\n]+\Z", "", text)
    text = re.sub(r"--distributed-executor-backend(=|\s+)\S+", "", text)
    return "\n".join(line for line in text.split("\n") if line.strip() not in {"", "\\"}).strip()


def world(text):
    """Return the product of the parallel sizes in a command, last one each; None without any."""
    words = text.split()
    sizes = {_SIZES[a]: int(b) for a, b in pairwise(words) if a in _SIZES and b.isdigit()}
    product = 1
    for size in sizes.values():
        product *= size
    return product if sizes else None


def rank_script(text, nnodes, rank):
    """Return the script of one rank: the flags follow the last word of the engine's command.

    The launcher appends them to the file's last line; behind a comment there they would be lost, which is not meant.
    """
    flags = f" --nnodes {nnodes} --node-rank {rank} --master-addr {HEAD} --master-port {PORT}"
    flags += " --headless" if rank else ""
    lines = text.split("\n")
    while lines[-1].lstrip().startswith("#"):
        lines.pop()
    lines[-1] = re.sub(r"\\?\s*\Z", "", lines[-1])
    return "\n".join(lines) + flags


def expected_start(stubs, data, text, where):
    script = where / "reference.sh"
    script.write_text(f"#!/bin/bash\n{text}\n")
    return stubs.run("bash", script, env=dict(data.get("env") or {}))


def rank_env(folder):
    lines = (folder / "rank.env").read_text().split("\n")
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("corpus")
    return ProjectFolder(root / "project"), Stubs(root / "stubs", "vllm", "uvicorn")


def bring(project, path, data):
    """Put a recipe of the corpus and stand-ins for its mods into the project; return the recipe's path there."""
    project.write("inventory.yaml", inventory(8))
    for mod in data.get("mods") or ():
        project.mod(mod.removeprefix("mods/"))
    name = f"recipes/{Path(path).name}"
    project.write(name, (CORPUS / path).read_bytes())
    return name


def check_ranks(outcome, data, nnodes, stubs, tmp_path, *, solo):
    """Start every rank both ways, and compare argv and environment."""
    bundle = unpack(outcome, tmp_path / "bundle")
    assert len(outcome.folders) == nnodes
    text = rendered(data, solo=solo)
    for rank, folder in enumerate(outcome.folders):
        ours = stubs.launch(bundle / folder, rank_env(bundle / folder))
        reference = expected_start(stubs, data, text if nnodes == 1 else rank_script(text, nnodes, rank), tmp_path)
        assert ours.argv == reference.argv
        for key in reference.env.keys() - _SHELLS_OWN:
            assert ours.env.get(key) == reference.env[key], key
    return bundle / outcome.folders[0]


@pytest.mark.parametrize("path", RECIPES)
def test_every_rank_starts_what_the_launcher_starts(path, place, tmp_path):
    project, stubs = place
    data = RECIPES[path]
    name = bring(project, path, data)
    alone = project.compile(name)
    if path in REFUSED:
        first = alone.errors[0]
        assert (first.code, first.span.line) == REFUSED[path][:2]
        return
    nnodes = 1 if data.get("solo_only") == "true" else world(rendered(data, solo=False)) or 1
    head = check_ranks(alone, data, nnodes, stubs, tmp_path, solo=nnodes == 1)
    written = {key: value for key, value in (data.get("env") or {}).items() if value != ""}
    assert written.items() <= service(head, X="leak").get("environment", {}).items()

    counted = project.compile(name, nodes=str(nnodes))
    assert {k: v for k, v in counted.files.items() if k.startswith("rank-")} == {
        k: v for k, v in alone.files.items() if k.startswith("rank-")
    }


@pytest.mark.parametrize("path", [path for path in RECIPES if path not in REFUSED])
def test_a_single_node_starts_what_the_launcher_starts_alone(path, place, tmp_path):
    project, stubs = place
    data = RECIPES[path]
    outcome = project.compile(bring(project, path, data), solo=True)
    text = rendered(data, solo=True)
    if data.get("cluster_only") == "true":
        # What is wrong first: the mode, or the number of nodes.
        assert [found.code for found in outcome.errors] in (["SPK389"], ["SPK384"])
    elif (world(text) or 1) > 1:
        # The launcher would start an engine here that waits for GPUs which one node does not have.
        assert [found.code for found in outcome.errors] == ["SPK384"]
    else:
        check_ranks(outcome, data, 1, stubs, tmp_path, solo=True)


def test_recipes_are_counted(place, capsys):
    project, _ = place
    counts = Counter()
    for path, data in RECIPES.items():
        outcome = project.compile(bring(project, path, data))
        if outcome.compiled is None:
            counts[f"refused with {outcome.errors[0].code}"] += 1
        else:
            counts["script" if isinstance(outcome.compiled.plan.ranks[0].process, Shell) else "argv"] += 1
    show(capsys, "spark-vllm-docker v1", counts)
    assert counts["argv"] > 0
    assert sum(counts.values()) - counts["argv"] - counts["script"] == len(REFUSED.keys() & RECIPES.keys())


def test_the_toml_recipe_compiles_for_four_nodes_and_its_doubled_flags_are_told(place, tmp_path):
    project, stubs = place
    for path in sorted((CORPUS / "sm121").glob("*.toml")):
        project.write("recipes/sm121.toml", path.read_bytes())
        outcome = project.compile("recipes/sm121.toml")
        assert len(outcome.folders) == 4
        doubled = [found.message.split()[0] for found in outcome.diagnostics if found.code == "SPK127"]
        assert doubled == ["--decode-context-parallel-size", "--enable-prompt-tokens-details", "--limit-mm-per-prompt"]

        import tomli

        data = tomli.loads(path.read_text())
        written = shlex.split(" ".join(data["args"]))
        stubs.add("python3")
        bundle = unpack(outcome, tmp_path / "bundle")
        for rank, folder in enumerate(outcome.folders):
            started = stubs.launch(bundle / folder)
            position = started.argv.index(written[0])
            assert started.argv[: len(data["entrypoint"])] == data["entrypoint"]
            assert started.argv[position : position + len(written)] == written
            assert started.argv[position + len(written) :] == shlex.split(rank_script("", 4, rank))
            assert data["env"].items() <= rank_env(bundle / folder).items()


def test_other_files_compile_or_are_refused_with_a_place(place, capsys):
    project, _ = place
    counts = Counter()
    for path in sorted(CORPUS.rglob("*")):
        name = path.relative_to(CORPUS).as_posix()
        if path.suffix not in {".yaml", ".yml", ".toml", ".sh"} or name in RECIPES or name.startswith("sm121/"):
            continue
        project.write(f"other/{path.name}", path.read_bytes())
        try:
            outcome = project.compile(f"other/{path.name}")
        except SparkcError as error:
            counts[f"failed: {error.message}"] += 1
            continue
        assert (outcome.compiled is None) == bool(outcome.errors)
        assert all(found.span is not None and found.hint for found in outcome.errors), name
        counts[outcome.errors[0].code if outcome.errors else "compiled"] += 1
    show(capsys, "other files", counts)
    assert not any(kind.startswith("failed") for kind in counts)


def show(capsys, title, counts):
    with capsys.disabled():
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
        sys.stdout.write(f"\n{title}: {listed}\n")
