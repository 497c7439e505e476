"""Two recipes compared: what runs, whatever the dialect and wherever a value stands."""

from __future__ import annotations

import pytest

from sparkc.diagnostics import Report
from sparkc.planning.deviations import check_deviations
from sparkc.recipe.dialects import read_recipe_file
from support.compile_text import IMAGE, native, v1

SOURCE = "derived_from: {source: old.yaml}"


def compared(recipe, original):
    """Return (code, message, line) of everything that is said about ``recipe``, which gets ``derived_from``."""
    report = Report()
    mine = read_recipe_file("mine.yaml", f"{recipe}{SOURCE}\n".encode(), report)
    old = read_recipe_file("old.yaml", original.encode(), Report())
    assert mine is not None, [found.message for found in report.diagnostics]
    assert old is not None
    report = Report()
    check_deviations(mine, old, report)
    return [(found.code, found.message, found.span.line) for found in report.diagnostics]


def differences(recipe, original):
    """Return the keys of the undeclared differences."""
    return [message.split(" differs")[0] for code, message, _ in compared(recipe, original) if code == "SPK390"]


V1 = v1(
    "vllm serve org/model --port {port} -tp {tensor_parallel} --revision {rev} --served-model-name a b"
    ' --json \'{{"b": 1, "a": 2}}\' --distributed-executor-backend ray',
    "defaults: {port: 8000, tensor_parallel: 2, rev: '" + "0" * 40 + "'}",
    "mods: [mods/x]",
    "env: {A: 'b'}",
).replace(f"model_revision: '{'0' * 40}'\n", "")

SAME = native(
    "port: 8000",
    "parallel: {tensor: 2, pipeline: 1}",
    "nodes: 2",
    "served_model_name: [a, b]",
    "mods: [x]",
    "cluster_only: false",
    "container: {privileged: false}",
    "env: {A: b}",
    "json_args: {--json: {a: 2, b: 1}}",
    "description: another one",
    "notes: {a: b}",
)


def test_the_same_thing_in_other_words_is_no_difference():
    assert compared(SAME, V1) == []


@pytest.mark.parametrize(
    ("old", "new", "key", "values", "line"),
    [
        ("port: 8000", "port: 8001", "port", "8001 here, 8000 there", 7),
        ("nodes: 2\n", "", None, "", 0),
        ("[a, b]", "[a]", "served_model_name", "a here, a b there", 10),
        ("[x]", "[y, x]", "mods", "y x here, x there", 11),
        ("cluster_only: false", "cluster_only: true", "cluster_only", "true here, nothing there", 12),
        ("privileged: false", "pids: 9", "container.pids", "9 here, nothing there", 13),
        ("{A: b}", "{A: c}", "env.A", "c here, b there", 14),
        ("{A: b}", "{A: b, B: ''}", "env.B", '"" here, nothing there', 14),
        ("{A: b}", "{A: b, B: null}", "env.B", "null here, nothing there", 14),
        ("{A: b}", "{}", "env.A", "nothing here, b there", 18),
        ("a: 2", "a: 3", "args.--json", '{"a": 3, "b": 1} here, {"a": 2, "b": 1} there', 15),
        ("notes:", "args: [--eager]\nnotes:", "args.--eager", "given here, nothing there", 17),
        ("notes:", "args: [--x, '1', --x=2]\nnotes:", "args.--x", "1 and 2 here, nothing there", 17),
        ("notes:", "entrypoint: [/a, vllm, serve]\nnotes:", "entrypoint", "/a vllm serve here, vllm serve there", 17),
        ("notes:", "secrets: [T]\nnotes:", "secrets", "T here, nothing there", 17),
        ("notes:", "earlyoom: true\nnotes:", "earlyoom", "true here, nothing there", 17),
        ("notes:", "health: {path: /h}\nnotes:", "health.path", "/h here, nothing there", 17),
        ("notes:", "ready_timeout: 1m\nnotes:", "ready_timeout", "60 here, nothing there", 17),
        (
            "notes:",
            "mounts: [{source: /a, target: /b, read_only: true}]\nnotes:",
            "mounts./b",
            "/a:ro here, nothing there",
            17,
        ),
        ("revision: '0", "revision: '1", "revision", f"1{'0' * 39} here, {'0' * 40} there", 6),
        ("model: org/model", "model: org/other", "model", "org/other here, org/model there", 5),
        (IMAGE, "org/x:1", "image", f"org/x:1 here, {IMAGE[:79]}… there", 4),
        ("engine: vllm", "engine: vllm-ray", "engine", "vllm-ray here, vllm there", 3),
    ],
)
def test_a_difference_is_found_where_it_stands(old, new, key, values, line):
    assert old in SAME
    found = compared(SAME.replace(old, new, 1), V1)

    expected = [] if key is None else [("SPK390", f"{key} differs from old.yaml: {values}", line)]
    assert found == expected


def test_each_size_is_compared_and_one_is_the_default():
    assert compared(SAME.replace("tensor: 2, pipeline: 1", "pipeline: 2"), V1) == [
        ("SPK390", "parallel.pipeline differs from old.yaml: 2 here, 1 there", 8),
        ("SPK390", "parallel.tensor differs from old.yaml: 1 here, 2 there", 18),
    ]


def test_a_path_keeps_its_identity():
    recipe = native("parent_model: org/model").replace("model: org/model", "model: /models/x", 1)

    assert differences(recipe, native()) == ["model", "parent_model"]


@pytest.mark.parametrize(
    "key", ["parallel.tensor", "args.--tensor-parallel-size", "args.-tp", "args.--tensor_parallel_size"]
)
def test_a_flag_is_declared_by_any_of_its_names(key):
    changed = native(
        "parallel: {tensor: 4}", "deviations:", f"- {{key: {key}, reason: r}}", "- {key: nodes, reason: r}"
    )

    assert compared(changed, native("parallel: {tensor: 2}")) == []


def test_json_args_are_declared_as_args_too():
    changed = native("json_args: {--j: {a: 1}}", "deviations: [{key: json_args.--j, reason: r}]")

    assert compared(changed, native()) == []


def test_a_declared_difference_that_is_none_is_a_warning():
    recipe = native("port: 9", "deviations:", "- {key: port, reason: r}", "- {key: args.--x, reason: r}")

    assert compared(recipe, native("port: 9")) == [
        ("SPK391", "deviation port is none: both have 9", 9),
        ("SPK391", "deviation args.--x is none: neither has it", 10),
    ]


def test_scripts_and_unknown_programs_are_compared_as_they_are():
    script = v1("cd /x\nvllm serve org/model -tp 2", "mods: []")
    plain = native("command: [run, 'a b']", engine="plain")

    assert "command" in differences(native("parallel: {tensor: 2}"), script)
    assert differences(plain, native("command: run 'a  b'", engine="plain")) == ["command"]
    assert differences(plain, native("command: run 'a b'", engine="plain")) == []
