"""Recipes of spark-vllm-docker v1."""

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Argv, Script, Text

MINIMAL = """\
name: Demo
recipe_version: "1"
container: vllm-node
command: vllm serve org/m
"""


def read(text, name="recipes/demo-1.5.yaml"):
    report = Report()
    return read_recipe_file(name, text.encode(), report), report


def codes(report):
    return [(found.code, found.severity, found.span.line) for found in report.diagnostics]


def texts(values):
    return {key: traced.value for key, traced in values.items()}


def test_a_whole_recipe():
    recipe, report = read("""\
recipe_version: "1"
name: Demo of everything
description: two lines
container: vllm-node
model: org/m
build_args: [--exp-b12x, --tf5]
cluster_only: true
solo_only: no
mods: [mods/a, mods/b/c]
defaults:
  port: 8000
  gpu_memory_utilization: 0.70
  names: a b
  spec: '{"method":"mtp"}'
env:
  A: NO
  B: 0.70
  C: 017
  D: '{"a":{"b":"c"}}'
  E:
command: |
  F=1 vllm serve org/m \\
    --port {port} --speculative-config '{spec}' \\
    --x '{{"k":{port}}}'
""")
    assert report.diagnostics == ()
    assert (recipe.dialect, recipe.title, recipe.base_name.value) == (
        "spark-vllm-docker",
        "Demo of everything",
        "demo-1.5",
    )
    assert (recipe.engine.value, recipe.image.value, recipe.model.value) == ("vllm", "vllm-node", "org/m")
    assert (recipe.cluster_only.value, recipe.solo_only.value, recipe.arguments_only) == (True, False, False)
    assert [mod.value for mod in recipe.mods] == ["mods/a", "mods/b/c"]
    assert recipe.notes == {"image built with": "build-and-copy.sh --exp-b12x --tf5"}
    assert texts(recipe.defaults) == {
        "port": "8000", "gpu_memory_utilization": "0.70", "names": "a b", "spec": '{"method":"mtp"}'
    }  # fmt: skip
    env = {key: value and value[0].text for key, value in texts(recipe.env).items()}
    assert env == {"A": "NO", "B": "0.70", "C": "017", "D": '{"a":{"b":"c"}}', "E": None, "F": "1"}
    assert isinstance(recipe.command, Argv)
    assert recipe.command.words[-1].parts[0] == Text('{"k":')
    assert recipe.env["B"].origin.text == "recipes/demo-1.5.yaml: env.B"
    assert recipe.env["F"].origin.text == "recipes/demo-1.5.yaml: command"


@pytest.mark.parametrize("env", ["env: []", "env:", "env: {}"])
def test_an_empty_env_in_any_form(env):
    recipe, report = read(MINIMAL + env + "\n")
    assert recipe.env == {}
    assert report.diagnostics == ()


@pytest.mark.parametrize("value", ["$HOME/x", "`date`", "a\\b"])
def test_a_live_env_value_stays_and_warns(value):
    recipe, report = read(f"{MINIMAL}env:\n  A: '{value}'\n")
    assert recipe.env["A"].value == (Text(value),)
    assert codes(report) == [("SPK128", Severity.WARNING, 6)]


def test_environment_of_the_command_wins_over_env_and_remembers_it():
    recipe, _ = read(MINIMAL.replace("vllm serve", "A=2 vllm serve") + "env: {A: 1}\n")
    assert recipe.env["A"].value == (Text("2"),)
    assert recipe.env["A"].overrode.value == (Text("1"),)


@pytest.mark.parametrize("key", ["name", "container", "command"])
def test_a_missing_key_is_named(key):
    recipe, report = read("".join(f"{line}\n" for line in MINIMAL.splitlines() if not line.startswith(key)))
    assert recipe is None
    (found,) = report.diagnostics
    assert found.code == "SPK030"
    assert repr(key) in found.message


def test_all_faults_come_in_one_run():
    _, report = read("""\
recipe_version: 1
containr: x
container: x
cluster_only: maybe
defaults: {l: [1, 2], n: }
command: |
  vllm serve m --x {"a":1}
""")
    assert codes(report) == [
        ("SPK020", Severity.WARNING, 2),
        ("SPK030", Severity.ERROR, 1),
        ("SPK024", Severity.ERROR, 4),
        ("SPK132", Severity.ERROR, 5),
        ("SPK132", Severity.ERROR, 5),
        ("SPK110", Severity.ERROR, 7),
    ]
    assert report.diagnostics[0].hint == "did you mean 'container'?"


def test_a_list_as_command_is_a_located_error():
    recipe, report = read(MINIMAL.replace("vllm serve org/m", "[vllm, serve]"))
    assert recipe is None
    assert codes(report) == [("SPK021", Severity.ERROR, 4)]


@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("vllm serve m", "vllm"),
        ("/opt/venv/bin/vllm serve m", "vllm"),
        ("exec /usr/local/bin/image-entrypoint serve m", "vllm"),
        ("python3 /opt/toolchain.py serve m", "vllm"),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", "vllm"),
        ("cd /x && vllm serve m", "vllm"),
        ("uvicorn server:app", "plain"),
        ("trtllm-serve serve m", "plain"),
        ("python -m sglang.launch_server", "plain"),
        ("cd /x && ./start.sh", "plain"),
    ],
)
def test_the_engine_is_recognised_in_the_command(command, engine):
    recipe, report = read(MINIMAL.replace("vllm serve org/m", command))
    assert recipe.engine.value == engine
    assert ("SPK133" in [found.code for found in report.diagnostics]) == (engine == "plain")
    assert isinstance(recipe.command, Script) == ("&&" in command)


def test_the_launch_mapping_of_forks():
    recipe, report = read(
        MINIMAL
        + """\
model_revision: abc
model_required_files: [x]
pull_image: true
launch:
  earlyoom: true
  non_privileged: true
  mem_limit_gb: 100
  extra_docker_args: [--cpus, "4"]
"""
    )
    assert codes(report) == [("SPK129", Severity.NOTE, 6), ("SPK129", Severity.WARNING, 12)]
    container = recipe.container
    assert (container.privileged.value, container.memory.value, container.memory_swap.value) == (
        False,
        "100gb",
        "110gb",
    )
    assert (container.pids.value, container.shm_size.value) == (4096, "64gb")
    assert (recipe.earlyoom.value, recipe.revision.value) == ("", "abc")
    assert recipe.notes == {"image": "a stock image that is pulled, not built"}


@pytest.mark.parametrize(
    ("ray", "severity", "hint"),
    [("false", Severity.NOTE, "remove it"), ("true", Severity.WARNING, "compile with --ray")],
)
def test_ray_is_no_matter_of_a_recipe(ray, severity, hint):
    recipe, report = read(f"{MINIMAL}ray: {ray}\n")

    assert recipe.engine.value == "vllm"
    (found,) = report.diagnostics
    assert (found.code, found.severity, found.span.line, found.hint) == ("SPK129", severity, 5, hint)


def test_ray_is_true_or_false():
    _, report = read(f"{MINIMAL}ray: maybe\n")

    assert codes(report) == [("SPK024", Severity.ERROR, 5)]


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("{earlyoom: false}", None),
        ("{earlyoom_args: -m 5}", "-m 5"),
        ("{earlyoom: yes}", ""),
        ("{pids_limit: 5}", None),
    ],
)
def test_earlyoom_arguments_imply_earlyoom(launch, expected):
    recipe, report = read(f"{MINIMAL}launch: {launch}\n")
    assert report.diagnostics == ()
    assert (recipe.earlyoom and recipe.earlyoom.value) == expected
    assert recipe.container.privileged is None
