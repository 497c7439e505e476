"""Which nodes serve, and whether that is solo."""

import pytest

from support.compile_text import LAB, compile_text, native, v1

TP2 = native("parallel: {tensor: 2}")


def chosen(compiled):
    return [rank.node.name.value for rank in compiled.ranks]


def roles(compiled):
    return [rank.role for rank in compiled.ranks]


@pytest.mark.parametrize(
    ("recipe", "nodes", "expected"),
    [
        (native(), None, ["s1"]),
        (TP2, None, ["s1", "s2"]),
        (TP2, "2", ["s1", "s2"]),
        (TP2, "s3,s1", ["s3", "s1"]),
        (TP2, " s3 , s1 ", ["s3", "s1"]),
        (native("parallel: {tensor: 2, pipeline: 2}"), None, ["s1", "s2", "s3", "s4"]),
        (native("parallel: {data: 3}"), None, ["s1", "s2", "s3"]),
        (native("args: [-tp, '2', --pipeline_parallel_size=2]"), None, ["s1", "s2", "s3", "s4"]),
        (native("args: [-tp, '4', -tp=2]"), None, ["s1", "s2"]),
        (v1("vllm serve org/m -tp {tensor_parallel}", "defaults: {tensor_parallel: 2}"), None, ["s1", "s2"]),
        (native("command: [run]", engine="plain"), None, ["s1"]),
        (native("command: [run]", engine="plain"), "3", ["s1", "s2", "s3"]),
        (native("command: [run]", "nodes: 2", engine="plain"), "3", ["s1", "s2"]),
    ],
)
def test_as_many_nodes_as_the_recipe_needs(recipe, nodes, expected):
    compiled = compile_text(recipe, nodes=nodes)
    assert chosen(compiled) == expected
    assert roles(compiled) == (["solo"] if len(expected) == 1 else ["head"] + ["worker"] * (len(expected) - 1))


def test_trimming_is_noted_only_where_more_was_asked_for():
    assert compile_text(TP2).codes == []
    compiled = compile_text(TP2, nodes="4")
    (note,) = compiled.report.diagnostics
    assert note.message == "recipe needs 2 node(s) (tp=2 × pp=1 × dp=1); using 2 of 4: s1, s2"
    assert (note.severity.value, note.span.line) == ("note", 7)


def test_a_recipe_trimmed_to_one_is_compiled_as_solo():
    compiled = compile_text(native(), nodes="4")
    assert roles(compiled) == ["solo"]
    assert "--nnodes" not in compiled.argv()
    assert compiled.env()["NCCL_SOCKET_IFNAME"] == "lo"
    assert compiled.env()["VLLM_HOST_IP"] == "127.0.0.1"
    assert compiled.ranks[0].container.devices == ()
    assert compiled.ranks[0].container.cap_add == ()


@pytest.mark.parametrize("way", [{"solo": True}, {"nodes": "1"}, {"nodes": "s2"}])
def test_solo_forces_a_tensor_size_from_defaults_to_one_wherever_it_is_used(way):
    recipe = v1(
        """vllm serve m -tp {tensor_parallel} --x '{{"n":{tensor_parallel}}}'""", "defaults: {tensor_parallel: 2}"
    )
    compiled = compile_text(recipe, **way)
    assert compiled.argv() == ["vllm", "serve", "m", "-tp", "1", "--x", '{"n":1}']
    value = compiled.plan.parameters["tensor_parallel"]
    assert (value.origin.kind, value.origin.text, value.overrode.value) == ("rule", "solo", "2")


@pytest.mark.parametrize(
    ("recipe", "overrides", "message"),
    [
        (v1("vllm serve m -tp 2"), {"solo": True}, "needs 2 node(s) (tp=2 × pp=1 × dp=1); --solo gives one"),
        (TP2, {"nodes": "1"}, "recipe needs 2 node(s) (tp=2 × pp=1 × dp=1); only 1 given: s1"),
        (native("nodes: 2", "parallel: {tensor: 2}"), {"solo": True}, "; --solo gives one"),
        (native("parallel: {tensor: 8}"), {}, "needs 8 node(s) (tp=8 × pp=1 × dp=1); only 4 given: s1, s2, s3, s4"),
        (native("command: [run]", "nodes: 9", engine="plain"), {}, "recipe needs 9 node(s) (nodes: 9); only 4 given"),
        (v1("vllm serve m -tp {tp}", "defaults: {tp: 1}"), {"tp": 2, "solo": True}, "--solo gives one"),
    ],
)
def test_more_nodes_than_given_is_an_error(recipe, overrides, message):
    compiled = compile_text(recipe, **overrides)
    assert compiled.plan is None
    assert compiled.codes == ["SPK384"]
    assert message in compiled.report.diagnostics[0].message


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("5", "SPK380", "choose 1 to 4"),
        ("0", "SPK380", "choose 1 to 4"),
        ("9" * 5000, "SPK380", "choose 1 to 4"),
        ("s1,S2", "SPK381", "did you mean 's2'?"),
        ("s1,,s2", "SPK381", "the inventory has: s1, s2, s3, s4"),
        ("s1,s1", "SPK382", "once"),
    ],
)
def test_nodes_that_cannot_be_chosen(text, code, hint):
    compiled = compile_text(TP2, nodes=text)
    assert compiled.codes == [code]
    assert hint in compiled.report.diagnostics[0].hint


def test_nodes_and_parallel_sizes_must_agree():
    compiled = compile_text(native("nodes: 3", "parallel: {tensor: 2}"))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.line) == ("SPK387", 7)
    assert "nodes: 3 is not what the parallel sizes need (tp=2 × pp=1 × dp=1: 2 GPU(s), 1 per node)" in error.message


def with_gpus(*counts):
    text = LAB
    for number, count in enumerate(counts, start=1):
        text = text.replace(f"address: 10.0.0.{number}", f"address: 10.0.0.{number}, gpus: {count}")
    return text


def test_gpus_per_node_divide_the_world():
    assert chosen(compile_text(native("parallel: {tensor: 8}"), with_gpus(4, 4))) == ["s1", "s2"]
    assert chosen(compile_text(native("parallel: {tensor: 2}"), with_gpus(4))) == ["s1"]
    assert chosen(compile_text(native("nodes: 1"), with_gpus(4))) == ["s1"]
    assert compile_text(native("parallel: {tensor: 6}"), with_gpus(4, 4)).codes == ["SPK388"]


def test_only_the_chosen_nodes_must_have_equal_gpus():
    compiled = compile_text(TP2, with_gpus(1, 4))
    assert compiled.codes == ["SPK383"]
    assert "s1: 1, s2: 4" in compiled.report.diagnostics[0].message
    assert chosen(compile_text(TP2, with_gpus(1, 1, 4))) == ["s1", "s2"]
    assert chosen(compile_text(native(), with_gpus(1, 4), nodes="1")) == ["s1"]


@pytest.mark.parametrize(
    ("recipe", "overrides", "mode"),
    [
        (native("cluster_only: true"), {}, "cluster"),
        (v1("vllm serve m -tp {tp}", "defaults: {tp: 2}", "cluster_only: true"), {"solo": True}, "cluster"),
        (v1("vllm serve m -tp {tp}", "defaults: {tp: 2}", "solo_only: true"), {"nodes": "2"}, "solo"),
    ],
)
def test_a_recipe_for_another_mode_is_refused_at_its_line(recipe, overrides, mode):
    (error,) = compile_text(recipe, **overrides).report.diagnostics
    assert error.code == "SPK389"
    assert error.message.endswith(f"requires {mode} mode")
    assert "_only" in error.span.source.line(error.span.line)


@pytest.mark.parametrize("given", [{}, {"nodes": "2"}, {"solo": True}])
def test_a_solo_only_recipe_with_several_ranks_is_refused_once_by_both_keys(given):
    (error,) = compile_text(TP2 + "solo_only: true\n", **given).report.diagnostics
    assert (error.code, error.span.line) == ("SPK384", 7)
    assert error.message == (
        "recipe needs 2 node(s) (tp=2 × pp=1 × dp=1) for parallel.tensor, and solo_only allows one"
    )
    assert [place.span.line for place in error.related] == [8]
    assert error.hint == "remove solo_only, or make the parallel sizes fit one node"


def test_a_solo_only_recipe_takes_one_node_of_many():
    assert roles(compile_text(native("solo_only: true"))) == ["solo"]


@pytest.mark.parametrize(("ray", "flag"), [(True, "--ray"), (False, "--no-ray")])
@pytest.mark.parametrize("solo", [{"solo": True}, {"nodes": "1"}])
def test_ray_options_on_one_node_are_refused(ray, flag, solo):
    (error,) = compile_text(native(), ray=ray, **solo).report.diagnostics
    assert (error.code, error.message) == ("SPK386", f"{flag} is incompatible with a single node")


def test_ray_options_are_for_vllm():
    compiled = compile_text(native("command: [run]", engine="plain"), ray=True, nodes="2")
    assert compiled.codes == ["SPK304"]
