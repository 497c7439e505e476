"""Converting and compiling commute: a converted recipe compiles to what the original compiles to.

The small recipes below hold what makes that hard; public ones come from a folder: SPARKC_CORPUS=/path pytest …
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from sparkc.cli.convert import convert
from sparkc.cli.inputs import load_recipe
from sparkc.cli.project import RecipeFile
from sparkc.diagnostics import Report
from sparkc.inventory.example import example_inventory
from sparkc.planning.group import Inputs
from sparkc.planning.model import Exec, Mod
from sparkc.planning.overrides import Overrides
from sparkc.planning.plan import make_plan
from sparkc.reading.read import read_document
from sparkc.recipe.comments import document_comments
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Script
from sparkc.recipe.placeholders import params_of

CORPUS = Path(os.environ.get("SPARKC_CORPUS", "/nonexistent"))
SUFFIXES = {".yaml", ".yml", ".toml", ".sh"}

# What a user gives to a recipe; each also with fields that only some recipes take, which must then fail alike.
OVERRIDES = {
    "none": {},
    "solo": {"solo": True},
    "port": {"port": 9123},
    "sizes": {"tp": 2, "pp": 2},
    "four": {"nodes": "4", "tp": 4},
    "ray": {"ray": True},
    "limits": {"gpu_mem": "0.5", "max_model_len": "4096", "host": "127.0.0.1"},
    "more": {"env": (("VLLM_X", "a b"),), "volumes": ("/data:/data:ro",), "image": "other/image:1", "earlyoom": True},
    "arguments": {"arguments": ("--max-num-seqs", "3")},
}

# Public files that are refused, by their folder and name: their commands only a shell can run.
REFUSED = {
    "mfellner+sparkrun-recipes/recipes/deepseek-v4-flash-0731-dspark-dual-spark-1m.yaml": "needs a shell",
}


def planned(recipe, **overrides):
    """Return what runs, or the codes of the errors."""
    report = Report()
    mods = tuple(Mod(traced.value.rsplit("/", 1)[-1], traced, ()) for traced in recipe.mods)
    plan = make_plan(Inputs(recipe, example_inventory(), Overrides(**overrides), mods), report)
    if plan is None:
        return sorted(found.code for found in report.diagnostics if found.severity.value == "error")
    watchdog = None if plan.earlyoom is None else plan.earlyoom.value
    models = [model.value for model in plan.models]
    return [facts(rank) for rank in plan.ranks], plan.engine, [mod.name for mod in plan.mods], watchdog, models


def facts(rank):
    container = rank.container
    return {
        "process": process(rank.process),
        "steps": rank.steps,
        "env": {name: value.value for name, value in rank.environment.items()},
        "mounts": [(m.source.value, m.target.value, m.read_only, m.create) for m in rank.mounts],
        "container": {name: plain(getattr(container, name)) for name in container.__match_args__},
        "probe": (rank.probe, rank.deep_probe, rank.ports, rank.wave),
        "node": (rank.node.name.value, rank.role),
    }


def process(found):
    """A script that no engine's flags go into is the same program as its text behind ``-c``."""
    if isinstance(found, Exec):
        return [word.value for word in found.argv]
    text = found.text.value.split("\n", 1)[1]
    return [*(word.value for word in found.entrypoint), *found.interpreter.split(), "-c", text]


def plain(value):
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return getattr(value, "value", value)


def load(path):
    """The file and its recipe, which is None when it does not compile."""
    file, report = RecipeFile(path, path.name, outside=True), Report()
    recipe, _ = load_recipe(file, report)
    return file, None if report.failed else recipe


def settings(recipe):
    yield from OVERRIDES.items()
    used = {param.name for param in params_of(recipe.command)} & recipe.defaults.keys()
    for name in sorted(used - {"model", "resolved_model_path"}):
        yield f"--set {name}", {"set": ((name, "7"),)}


def check(path):
    """Convert one file to both notations, and compare. The errors, if it is refused."""
    file, recipe = load(path)
    assert recipe is not None
    report = Report()
    text, toml = convert(file, "yaml", report), convert(file, "toml", Report())
    if text is None:
        assert toml is None
        return [found for found in report.diagnostics if found.severity.value == "error"]
    assert missing_comments(path, text) == []
    assert toml is None or missing_comments(path, toml) == []
    native = read(path, "yaml", text)
    for name, overrides in settings(recipe):
        parameter = name.removeprefix("--set ")
        if f"{{{parameter}}} is written out" in text or (name == "arguments" and isinstance(recipe.command, Script)):
            continue  # it can no longer be set; and `sh -c` takes arguments that a script refuses
        renamed = re.search(rf"(\w+) was {re.escape(parameter)},", text)
        here = overrides if renamed is None else {"set": ((renamed[1], "7"),)}
        assert planned(native, **here) == planned(recipe, **overrides), name
    if toml is not None:  # which has no null
        assert planned(read(path, "toml", toml)) == planned(native)
    return []


def missing_comments(path, text):
    """Return the comments of a YAML or TOML file that did not arrive."""
    if path.suffix == ".sh":
        return []
    document = read_document(path.name, path.read_bytes(), Report())
    arrived = Counter(line[line.find("#") :].rstrip() for line in text.splitlines() if "#" in line)
    wanted = Counter(comment.text for comment in document_comments(document, commands=False))
    return [comment for comment in (wanted - arrived).elements() if not comment.startswith("# yaml-language-server")]


def read(path, suffix, text):
    report = Report()
    native = read_recipe_file(f"{path.stem}.{suffix}", text.encode(), report)
    assert native is not None, [found.message for found in report.diagnostics]
    assert native.dialect == "native"
    return native


def corpus():
    for path in sorted(CORPUS.rglob("*")) if CORPUS.is_dir() else ():
        if path.suffix in SUFFIXES and path.is_file() and load(path)[1] is not None:
            yield path.relative_to(CORPUS).as_posix()


@pytest.mark.skipif(not CORPUS.is_dir(), reason="SPARKC_CORPUS names no folder of public recipes")
@pytest.mark.parametrize("name", list(corpus()))
def test_public_recipes_compile_to_the_same_ranks(name):
    refused = check(CORPUS / name)

    assert [found.code for found in refused] == ["SPK160"] * (name in REFUSED)
    assert all(found.span is not None and found.hint and REFUSED[name] in found.message for found in refused)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="SPARKC_CORPUS names no folder of public recipes")
def test_public_recipes_are_counted(capsys):
    counts = Counter()
    for name in corpus():
        file, recipe = load(CORPUS / name)
        text = convert(file, "yaml", Report())
        compiles = isinstance(planned(recipe), tuple)
        form = "refused" if text is None else "args" if "\nargs:" in text else "command"
        counts[f"{recipe.dialect}, {form}{'' if compiles else ' (does not compile)'}"] += 1
    with capsys.disabled():
        sys.stdout.write(
            "\nconverted: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) + "\n"
        )
    assert counts["spark-vllm-docker, args"] > 0


def v1(command, *lines):
    head = ["recipe_version: '1'", "name: Demo", "container: org/image:1", *lines]
    return "\n".join([*head, "command: |", *(f"  {line}" for line in command.splitlines()), ""])


VLLM = "vllm serve org/model --port {port} -tp {tensor_parallel}"
DEFAULTS = "defaults: {port: 8000, tensor_parallel: 2, extra: '--a 1 --b \"x y\"', quoted: \"'a b'\", empty: ''}"
SPARKRUN = "recipe_version: '2'\nruntime: vllm\nmodel: org/model\ncontainer: org/image:1\n"
NATIVE = "sparkc: 1\nname: demo\nengine: vllm\nimage: org/image:1\nmodel: org/model\n"

CASES = {
    "plain v1": v1(VLLM, DEFAULTS),
    "values that split": v1(f"{VLLM} {{extra}} x{{extra}}y {{empty}}", DEFAULTS),
    "values that vanish": v1(f'{VLLM} --x {{empty}} --y="{{empty}}"', DEFAULTS),
    "quotes in values": v1(f"{VLLM} --q {{quoted}} --r '{{quoted}}' --s {{quoted}}{{port}}", DEFAULTS),
    "only words": v1(f"{VLLM} --q {{quoted}}", DEFAULTS),
    "braces": v1(f"{VLLM} --j '{{{{\"a\": \"{{{{port}}}}\"}}}}' --k '{{{{{{port}}}}}}' '${{{{port}}}}'", DEFAULTS),
    "node braces": v1(f"{VLLM} --j '{{{{node.name}}}}' '{{{{{{{{x}}}}}}}}'", DEFAULTS.replace("empty", "literal_port")),
    "backend": v1(f"{VLLM} --distributed-executor-backend ray --x", DEFAULTS),
    "backend with =": v1(f"{VLLM} --distributed_executor_backend=ray", DEFAULTS),
    "backend at the end": v1(f"{VLLM} --distributed-executor-backend --x", DEFAULTS),
    "backend from a value": v1(
        f"{VLLM} {{b}}", "defaults: {port: 1, tensor_parallel: 2, b: --distributed-executor-backend mp}"
    ),
    "other identity": v1(VLLM, DEFAULTS, "model: org/parent"),
    "path": v1("vllm serve /models/x --port {port}", DEFAULTS, "model: org/model"),
    "revision": v1(VLLM, DEFAULTS, "model_revision: abc"),
    "revision as flag": v1(f"{VLLM} --revision abc", DEFAULTS, "model_revision: abc"),
    "model as parameter": v1("vllm serve {m} --port {port}", "defaults: {m: org/model, port: 1}"),
    "module": v1("python3 -m vllm.entrypoints.openai.api_server --model org/m --port {port}", DEFAULTS),
    "wrapper": v1("numactl -N 0 vllm serve org/m -tp {tensor_parallel}", DEFAULTS),
    "toolchain": v1("python3 /opt/toolchain.py serve org/m -tp {tensor_parallel}", DEFAULTS),
    "environment before": v1("exec A='b c' B={port} vllm serve org/m --port {port}", DEFAULTS, "env: {A: x}"),
    "bash": v1("bash -c 'vllm serve org/m -tp 2'"),
    "environment": v1(VLLM, DEFAULTS, "env: {NULL: null, EMPTY: '', JSON: '{\"a\":1}', X: $HOME, N: 0123, B: NO}"),
    "launch": v1(VLLM, DEFAULTS, "launch: {non_privileged: true, earlyoom: true, pids_limit: 9, earlyoom_args: -M 1}"),
    "mods": v1(VLLM, DEFAULTS, "mods: [mods/fix-x, y]", "solo_only: true"),
    "unknown program": v1("uvicorn server:app --port {port} '{{x}}'", DEFAULTS),
    "script without engine": v1("cd /srv && ./run --port {port} '{quoted}' \"$HOME\" | tee '{{x}}'", DEFAULTS),
    "rank as a name": v1("vllm serve org/m --seed {rank}", "defaults: {rank: 7}"),
    "unused": v1("vllm serve org/m", "defaults: {port: 1, max_model_len: 2, model: org/other}"),
    "sparkrun": SPARKRUN + "defaults: {port: 8000, tensor_parallel: 2, my-name: x}\n"
    "command: vllm serve {model} --served-model-name {model} --port {port} -tp {tensor_parallel} --n {my-name}\n",
    "sparkrun without a command": SPARKRUN + "defaults: {port: 8000, tensor_parallel: 2, enforce_eager: true}\n",
    "sparkrun's other model": SPARKRUN + "command: vllm serve org/other --served-model-name {model}\n",
    "sparkrun's environment": SPARKRUN + "defaults: {a: b}\nenv: {X: '{config.a}'}\ncommand: vllm serve {model}\n",
    "native": NATIVE
    + "port: 9000\nparallel: {tensor: 2}\nargs: ['--x', '{rank}', '{model}', '{{x}}', '{node.address}']\n"
    "json_args: {--j: {a: '{q}', b: [1, '{p}']}}\ndefaults: {q: 'a\"b', p: '{x}'}\nenv: {E: '{head.address}'}\n",
    "comments": v1(
        VLLM,
        DEFAULTS,
        "# one",
        "env:  # two",
        "  A: b  # three",
        "  # four",
        "launch:  # five",
        "  # six",
        "  pids_limit: 9  # seven",
        "cluster_only: true  # eight",
        "# nine",
    )
    + "# ten\n",
    "comments of native": NATIVE
    + "container:\n  ulimits:\n    # one\n    nofile: 9  # two\n    # three\n  pids: 2  # four\n"
    "mounts:\n  # five\n  - source: /a  # six\n    target: /b  # seven\n  # eight\nhealth: {path: /h}  # nine\n",
    "native command": NATIVE + "command: [vllm, serve, x, '--port', '{port}', -tp, '2']\nport: 9\nrevision: abc\n",
    "native text": NATIVE.replace("engine: vllm", "engine: plain") + "command: A=b run '{rank}'\nentrypoint: [/e.sh]\n",
    "native container": NATIVE + "entrypoint: keep\nearlyoom: true\n"
    "health: {path: /h, port: 1, start_period: 90, interval: 5s}\n"
    "container: {ipc: host, privileged: true, devices: [/dev/fuse], ulimits: {nofile: 9}, security_opt: [a=b]}\n"
    "mounts: [{source: ~/a, target: /b, read_only: true}, {source: /c, target: /d, create: true}]\n"
    "secrets: [HF_TOKEN]\n",
}


@pytest.mark.parametrize("name", CASES)
def test_a_converted_recipe_compiles_to_the_same_ranks(name, tmp_path):
    path = tmp_path / "demo.yaml"
    path.write_text(CASES[name])
    assert load(path)[1] is not None

    assert [found.message for found in check(path)] == []


TOML = '''\
engine = "vllm"
docker_image = "org/image:1"
model = "/models/x"
parent_model = "org/x"
entrypoint = ["python3", "/opt/toolchain.py", "serve"]
port = 30000
required_nodes = 4
tensor_parallel_size = 4
distributed_backend = "mp"
shm_size = "32gb"
devices = ["/dev/infiniband"]
args = ["--a", """ '{"b": "{port}"}'""", "--c d"]
extra_mounts = [{host = "~/x", container = "/x"}]
ready_timeout = 900
env = {A = "b", C = '{"x":1}'}
links = {status = "/status"}
'''


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("demo.toml", TOML),
        ("demo.sh", "#!/bin/bash\n# PROFILE: x\nvllm serve org/model -tp 2 '{port}' # end\n"),
        ("demo.sh", "#!/bin/bash -e\n# a script\nfor i in 1 2; do echo ${i} '{i}'; done\n./run\n"),
    ],
)
def test_other_dialects_compile_to_the_same_ranks(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text)

    assert [found.message for found in check(path)] == []


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.yaml", v1("cd /x && vllm serve org/m"), 5, "rank flags go into the engine's command"),
        ("a.yaml", v1("vllm serve org/m --x {y}"), 5, "{y} has no value"),
        ("a.yaml", v1("vllm serve org/m {a}", 'defaults: {a: "\'x"}'), 4, "{a} opens a quote that it does not close"),
        ("a.yaml", SPARKRUN + "command: vllm $serve {model}\n", 5, "rank flags go into the engine's command"),
        ("a.yaml", v1("vllm serve org/m", "env: {A: 1, B: '{node.name}'}"), 4, "env.B holds braces"),
        (
            "a.yaml",
            v1("vllm serve org/m").replace("org/image:1", "'-x'"),
            3,
            "a native recipe does not take this: image",
        ),
        ("a.sh", '#!/bin/sh\ncd "$(dirname "$0")"\n./run\n', 1, "it asks for its own path"),
        ("a.sh", "#!/usr/bin/python3\nrun; run\n", 1, "it runs under '/usr/bin/python3'"),
    ],
)
def test_what_no_native_recipe_can_say_is_refused_at_its_place(name, text, line, message, tmp_path):
    path = tmp_path / name
    path.write_text(text)

    refused = check(path)

    assert [(found.code, found.span.line) for found in refused] == [("SPK160", line)]
    assert message in refused[0].message
    assert refused[0].hint
