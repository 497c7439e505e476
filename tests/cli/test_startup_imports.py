"""What start-up imports: time that every call pays. A new import here is a decision, not an accident."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sparkc

RUN = """
import sys
before = set(sys.modules)
from sparkc.cli.main import run
code = run(sys.argv[1:])
import json
print("\\n" + json.dumps([code, sorted(set(sys.modules) - before)]))
"""
RECIPE = f"""\
sparkc: 1
name: demo
engine: vllm
image: example/vllm@sha256:{"0" * 64}
model: org/model
revision: {"0" * 40}
parallel: {{tensor: 2}}
args: [--max-model-len, "4096"]
"""
INVENTORY = """\
sparkc_inventory: 1
name: lab
topology: pair
defaults: {user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0]}
nodes:
  - {name: spark-1, ssh: spark-1.lan, address: 10.0.0.1}
  - {name: spark-2, ssh: spark-2.lan, address: 10.0.0.2}
"""
# For faults, comparisons, other formats and the build: a clean compile needs none of them.
HEAVY = {
    "dataclasses",
    "difflib",
    "fastjsonschema",
    "jinja2",
    "jsonschema",
    "rich",
    "shutil",
    "subprocess",
    "tempfile",
    "tomli",
    "unicodedata",
    "zipfile",
}


@pytest.fixture
def imported(tmp_path):
    """Return a function that runs one command line in a project and returns what that imported."""
    (tmp_path / "demo.yaml").write_text(RECIPE)
    (tmp_path / "inventory.yaml").write_text(INVENTORY)

    def run(*arguments):
        environment = os.environ | {"PYTHONPATH": str(Path(sparkc.__file__).parents[1])}
        command = [sys.executable, "-c", RUN, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        code, modules = json.loads(done.stdout.splitlines()[-1])
        assert (code, done.stderr) == (0, "")
        return set(modules)

    return run


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_waits_for_click_only(imported, arguments):
    modules = imported(*arguments)
    assert {name for name in modules if name.startswith("sparkc")} == {"sparkc", "sparkc.cli", "sparkc.cli.main"}
    assert "click" in modules
    assert not modules & (HEAVY | {"hashlib", "pathlib", "yaml"})


def test_a_clean_compile_imports_what_it_uses(imported):
    modules = imported("compile", "demo.yaml")
    assert not modules & HEAVY
    ours = {name for name in modules if name.startswith("sparkc.")}
    assert not {name for name in ours if name.endswith(("_faults", "toml_reader"))}
    # other dialects and their shell lexer; mods; diagnostics in words; a bundle that is there already
    assert not ours & {
        "sparkc.bundle.check",
        "sparkc.bundle.template_code",
        "sparkc.bundle.verify",
        "sparkc.cli.crash",
        "sparkc.cli.hub",
        "sparkc.cli.known_models",
        "sparkc.cli.mods_on_disk",
        "sparkc.diagnostics.github",
        "sparkc.diagnostics.json_format",
        "sparkc.diagnostics.text",
        "sparkc.inventory.adhoc",
        "sparkc.inventory.example",
        "sparkc.recipe.shell",
        "sparkc.recipe.shell_lexer",
        "sparkc.recipe.sm121",
        "sparkc.recipe.spark_vllm_docker",
        "sparkc._prepared.validate_bundle",
        "sparkc._prepared.validate_mod",
    }
    assert "sparkc.recipe.native" in ours
    assert not {name for name in ours if name.startswith("sparkc.fit")}


def test_facts_of_another_model_load_no_formulas(imported, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/org--other.yaml").write_text("sparkc_model: 1\nconfig: {}\n")

    assert not {name for name in imported("compile", "demo.yaml") if name.startswith("sparkc.fit")}
