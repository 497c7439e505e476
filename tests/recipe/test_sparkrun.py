"""Recipes of sparkrun: fields, engines, node range, container settings, environment."""

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Param, Text

BASE = """\
recipe_version: "2"
model: org/m
runtime: vllm
container: img:1
defaults:
  port: 8000
  tensor_parallel: 2
"""
COMMAND = "command: vllm serve {model} -tp {tensor_parallel} --port {port}\n"


def read(text, name="recipes/two.yaml"):
    report = Report()
    return read_recipe_file(name, text.encode(), report), report


def found(report):
    return [(item.code, item.severity, item.span.line) for item in report.diagnostics]


def words(recipe):
    return [
        "".join(part.text if isinstance(part, Text) else f"<{part.name}>" for part in word.parts)
        for word in recipe.command.words
    ]


def test_a_whole_recipe():
    recipe, report = read(
        BASE
        + COMMAND
        + """\
name: Two
model_revision: abc
runtime_version: v0.26
min_nodes: 2
mods: [mods/fix]
metadata: {description: " Serves m ", source: https://example.org/m, num_layers: 4}
env: {A: 017, B: null, C: ""}
build_args: [--tf5]
benchmark: {framework: x}
builder: eugr
distribution_config: {models: {enabled: true}}
"""
    )
    assert report.diagnostics == ()
    assert (recipe.dialect, recipe.title, recipe.base_name.value) == ("sparkrun", "Two", "two")
    assert (recipe.engine.value, recipe.image.value, recipe.model.value) == ("vllm", "img:1", "org/m")
    assert (recipe.revision.value, recipe.description) == ("abc", "Serves m")
    assert words(recipe) == ["vllm", "serve", "<model>", "-tp", "<tensor_parallel>", "--port", "<port>"]
    assert {name: value.value for name, value in recipe.defaults.items()} == {
        "port": "8000",
        "tensor_parallel": "2",
        "model": "org/m",
        "model_revision": "abc",
        "resolved_model_path": "org/m",
        "gpu_memory_utilization": "0.8",
    }
    assert {key: value.value for key, value in recipe.env.items()} == {"A": (Text("017"),), "B": None, "C": (Text(""),)}
    assert (recipe.cluster_only.value, recipe.solo_only, recipe.nodes) == (True, None, None)
    assert [mod.value for mod in recipe.mods] == ["mods/fix"]
    assert recipe.notes == {
        "image built with": "build-and-copy.sh --tf5",
        "runtime version": "v0.26",
        "source": "https://example.org/m",
    }
    assert recipe.defaults["port"].origin.text == "recipes/two.yaml: defaults.port"


def test_the_title_falls_back_to_the_file_and_defaults_may_set_what_is_injected():
    recipe, _ = read(BASE + "  model: org/other\n" + COMMAND)
    assert (recipe.title, recipe.defaults["model"].value, recipe.model.value) == ("two", "org/other", "org/m")


@pytest.mark.parametrize(
    ("runtime", "command", "engine"),
    [
        ("vllm", "vllm serve m", "vllm"),
        ("vllm-distributed", "vllm serve m", "vllm"),
        ("vllm-ray", "vllm serve m", "vllm-ray"),
        ("eugr-vllm", "vllm serve m", "vllm-ray"),
        ("vllm", "vllm serve m --distributed-executor-backend ray", "vllm-ray"),
        ("vllm", "vllm serve m --distributed-executor-backend=ray", "vllm-ray"),
        ("vllm", "vllm serve m --distributed-executor-backend mp", "vllm"),
        ("vllm-distributed", "/opt/entry.sh --model m", "vllm"),
        ("vllm", "sglang serve --model-path m", "sglang"),
        ("", "vllm serve m", "vllm"),
        ("", "vllm serve m --distributed-executor-backend ray", "vllm-ray"),
        ("", "sglang serve --model-path m", "sglang"),
        ("", "python3 -m sglang.launch_server --model-path m", "sglang"),
        ("", "llama-server -hf m", "llama-cpp"),
        ("", "trtllm-serve m --tp_size 2", "trtllm"),
        ("", "mpirun -n 2 trtllm-llmapi-launch trtllm-serve m", "trtllm"),
        ("", "uvicorn app:app", "plain"),
        ("sglang", "sglang serve --model-path m", "sglang"),
        ("llama-cpp", "llama-server -m /m.gguf", "llama-cpp"),
        ("trtllm", "trtllm-serve m", "trtllm"),
    ],
)
def test_the_runtime_decides_the_engine_else_the_command(runtime, command, engine):
    text = BASE.replace("runtime: vllm\n", f"runtime: {runtime}\n" if runtime else "") + f"command: {command}\n"
    recipe, report = read(text)
    assert recipe.engine.value == engine
    assert not report.failed


def test_ray_may_stand_in_defaults():
    recipe, _ = read(BASE + "  distributed_executor_backend: ray\n" + COMMAND)
    assert recipe.engine.value == "vllm-ray"


@pytest.mark.parametrize(
    ("runtime", "command", "code", "words_in_hint"),
    [
        ("sglng", "sglang serve --model-path m", "SPK134", "sglang"),
        ("ds4-cuda", "ds4 serve", "SPK134", "engine: plain"),
        ("sglang", "vllm serve m", "SPK150", "runtime: vllm"),
        ("trtllm", "llama-server -m x", "SPK150", "runtime: llama-cpp"),
    ],
)
def test_a_runtime_that_cannot_serve_the_command_is_an_error(runtime, command, code, words_in_hint):
    text = BASE.replace("runtime: vllm", f"runtime: {runtime}") + f"command: {command}\n"
    _, report = read(text)
    assert found(report) == [(code, Severity.ERROR, 3)]
    assert words_in_hint in report.diagnostics[0].hint


@pytest.mark.parametrize(
    ("text", "cluster", "solo"),
    [
        ("min_nodes: 1\nmax_nodes: 4\n", False, False),
        ("min_nodes: 2\n", True, False),
        ("max_nodes: 1\n", False, True),
        ("mode: solo\n", False, True),
        ("mode: cluster\n", True, False),
        ("mode: auto\nmin_nodes: 2\nmax_nodes: 2\n", True, False),
        ("cluster_only: true\n", True, False),
        ("solo_only: yes\ncluster_only: off\n", False, True),
    ],
)
def test_the_node_range_refuses_one_node_or_several(text, cluster, solo):
    recipe, report = read(BASE.replace("tensor_parallel: 2", "ctx: 5") + "command: vllm serve {model}\n" + text)
    assert not report.failed
    assert (recipe.cluster_only is not None, recipe.solo_only is not None) == (cluster, solo)
    assert recipe.nodes is None


@pytest.mark.parametrize(
    ("text", "code", "severity", "message"),
    [
        ("max_nodes: 1\n", "SPK138", Severity.ERROR, "tensor_parallel 2 needs 2 nodes, but max_nodes allows 1"),
        ("min_nodes: 4\n", "SPK138", Severity.WARNING, "fewer than min_nodes says; 2 are taken"),
        ("min_nodes: 2\nsolo_only: true\n", "SPK150", Severity.ERROR, "several nodes and for one"),
        ("mode: both\n", "SPK031", Severity.ERROR, "auto, solo or cluster"),
        ("min_nodes: 0\n", "SPK023", Severity.ERROR, "min_nodes is 0"),
    ],
)
def test_contradictory_node_ranges(text, code, severity, message):
    _, report = read(BASE + COMMAND + text)
    assert found(report) == [(code, severity, 9)]
    assert message in report.diagnostics[0].message


def test_executor_settings_become_container_settings_and_mounts():
    recipe, report = read(
        BASE
        + COMMAND
        + """\
executor_config:
  privileged: true
  ipc: host
  shm_size: 64gb
  memory_limit: 110gb
  devices: [/dev/dri]
  security_opt: [label=disable]
  ulimit: [memlock=-1:-1, nofile=65535]
  volumes: ["~/models:/models:ro", /data]
  entrypoint: ""
  user: root
  auto_remove: true
  gpus: all
  network: host
  cap_add: [IPC_LOCK]
  restart_policy: "no"
"""
    )
    assert report.diagnostics == ()
    spec = recipe.container
    assert (spec.privileged.value, spec.ipc_host.value) == (True, True)
    assert (spec.shm_size.value, spec.memory.value) == ("64gb", "110gb")
    assert [device.value for device in spec.devices] == ["/dev/dri"]
    assert [option.value for option in spec.security_opt] == ["label=disable"]
    assert {name: limit.value for name, limit in spec.ulimits.items()} == {"memlock": -1, "nofile": 65535}
    assert [(m.source.value, m.target.value, m.read_only, m.create) for m in recipe.mounts] == [
        ("~/models", "/models", True, False),
        ("/data", "/data", False, True),
    ]


@pytest.mark.parametrize(
    "setting",
    [
        "restart_policy: unless-stopped",
        "user: 1000:1000",
        "entrypoint: /entry.sh",
        "gpus: device=1",
        "network: bridge",
        "cap_add: [SYS_ADMIN]",
        "ulimit: [core=0]",
        "ulimit: ['nofile=1:2']",
    ],
)
def test_executor_settings_without_a_counterpart_are_warnings(setting):
    recipe, report = read(BASE + COMMAND + f"executor_config:\n  {setting}\n")
    assert recipe is not None
    assert found(report) == [("SPK129", Severity.WARNING, 10)]
    assert f"executor_config.{setting.split(':')[0]} is not carried over" in report.diagnostics[0].message


def test_volumes_at_the_top_are_mounts_too_and_a_broken_one_is_an_error():
    recipe, report = read(BASE + COMMAND + "volumes:\n  - ~/m:/model:ro\n  - a:/b:rz\n")
    assert [mount.target.value for mount in recipe.mounts] == ["/model"]
    assert found(report) == [("SPK140", Severity.ERROR, 11)]


@pytest.mark.parametrize(
    "text",
    [
        "pre_exec: [mkdir /x]\n",
        "post_exec: [curl http://127.0.0.1]\n",
        "post_commands: [ls]\n",
        "layout: {a: b}\n",
        "cluster_config: {a: b}\n",
        "runtime_config: {a: b}\n",
        "patches: [a]\n",
        "variants: {a: {b: c}}\n",
        "draft_model: org/d\n",
        "stop_after_post: true\n",
        "executor: k8s\n",
        "command_mtp: vllm serve x\n",
    ],
)
def test_what_a_bundle_cannot_hold_is_a_warning_with_a_remedy(text):
    recipe, report = read(BASE + COMMAND + text)
    assert recipe is not None
    assert found(report) == [("SPK129", Severity.WARNING, 9)]
    assert report.diagnostics[0].hint


@pytest.mark.parametrize(
    "text", ["pre_exec: []\n", "overrides: []\n", "stop_after_post: false\n", "executor: docker\n"]
)
def test_empty_settings_ask_for_nothing(text):
    _, report = read(BASE + COMMAND + text)
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("overrides: [{when: {tp: 2}, defaults: {a: 1}}]\n", "SPK143", "overrides depend on"),
        ("containers: [{image: a, host: b}]\n", "SPK143", "each host its own image"),
    ],
)
def test_what_a_launch_would_choose_is_an_error(text, code, message):
    _, report = read(BASE + COMMAND + text)
    assert found(report) == [(code, Severity.ERROR, 9)]
    assert message in report.diagnostics[0].message


def test_a_choice_of_commands_is_an_error():
    _, report = read(BASE + "command_mtp: vllm serve a\ncommand_plain: vllm serve b\n")
    assert found(report) == [("SPK143", Severity.ERROR, 8)]
    assert "rename the one that you mean to command:" in report.diagnostics[0].hint


def test_missing_keys_and_unknown_ones_come_together():
    recipe, report = read("recipe_version: '4'\nruntime: vllm\ncommnd: x\nnotes: [a]\n")
    assert recipe is None
    assert found(report) == [
        ("SPK030", Severity.ERROR, 1),
        ("SPK030", Severity.ERROR, 1),
        ("SPK020", Severity.WARNING, 3),
        ("SPK020", Severity.WARNING, 4),
    ]
    assert report.diagnostics[2].hint == "did you mean 'command'?"


@pytest.mark.parametrize("command", ["[vllm, serve]", "{a: b}"])
def test_a_command_is_text(command):
    recipe, report = read(BASE + f"command: {command}\n")
    assert recipe is None
    assert found(report) == [("SPK021", Severity.ERROR, 8)]


def test_environment_templates_become_placeholders():
    recipe, report = read(
        BASE
        + COMMAND
        + """\
env:
  A: "p{config.port}-{launch.node_rank}"
  B: "{launch.node_host}:{launch.num_nodes}"
  C: "{{config.port}} {x} ${config.y}"
  D: "[{launch.model_revision}]"
"""
    )
    assert [
        (key, tuple(part.text if isinstance(part, Text) else f"<{part.name}>" for part in value.value))
        for key, value in recipe.env.items()
    ] == [
        ("A", ("p", "<port>", "-", "<rank>")),
        ("B", ("<node.address>", ":", "<nnodes>")),
        ("C", ("{config.port}", " {x} ${config.y}")),
        ("D", ("[", "", "]")),
    ]
    assert found(report) == [("SPK128", Severity.WARNING, 12)]


@pytest.mark.parametrize(
    ("value", "hint"), [("{config.prt}", "did you mean 'port'?"), ("{launch.cluster_id}", "known after launch.")]
)
def test_templates_that_nothing_fills_are_errors(value, hint):
    _, report = read(BASE + COMMAND + f"env:\n  A: '{value}'\n")
    assert found(report) == [("SPK153", Severity.ERROR, 10)]
    assert hint in report.diagnostics[0].hint


def test_shell_variables_in_env_are_literal_with_a_warning():
    recipe, report = read(BASE + COMMAND + "env:\n  HF_TOKEN: ${HF_TOKEN}\n")
    assert recipe.env["HF_TOKEN"].value == (Text("${HF_TOKEN}"),)
    assert found(report) == [("SPK128", Severity.WARNING, 10)]
    assert "${HF_TOKEN}" in report.diagnostics[0].message
    assert "secrets: [HF_TOKEN]" in report.diagnostics[0].hint


def test_node_ip_and_the_hub_cache_are_there_for_recipes_that_read_them():
    recipe, report = read(BASE + 'command: VLLM_HOST_IP="$NODE_IP" vllm serve /cache/huggingface/hub/m\n')
    (part,) = recipe.env["NODE_IP"].value
    assert isinstance(part, Param)
    assert part.name == "node.address"
    (mount,) = recipe.mounts
    assert (mount.source.value, mount.target.value) == ("~/.cache/huggingface", "/cache/huggingface")
    assert ("SPK142", Severity.NOTE, 8) in found(report)
    recipe, _ = read(BASE + COMMAND)
    assert (recipe.env, recipe.mounts) == ({}, ())
