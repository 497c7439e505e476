"""Mesh and ring: nodes on cables of their own."""

import pytest

from sparkc.diagnostics import Severity
from support.compile_text import IMAGE, compile_text, native

HCAS = "[rocep1s0f0, rocep1s0f1, roceP2p1s0f0, roceP2p1s0f1]"
MESH_KEYS = {"NCCL_NET_PLUGIN": "none", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_IB_MERGE_NICS": "0"}
RING_KEYS = {**MESH_KEYS, "NCCL_ALGO": "Ring"}
RING = [(1, 2), (2, 3), (3, 4), (4, 1)]


def cabled(topology, count, links=(), *, interface="enP7s7", hcas=HCAS, head=""):
    rows = [f"  - {{name: n{i}, ssh: n{i}, address: 10.0.0.{i}}}" for i in range(1, count + 1)]
    joined = [f"  - {{a: n{a}, b: n{b}}}" for a, b in links]
    lines = ["sparkc_inventory: 1", "name: lab", f"topology: {topology}", *([head] if head else [])]
    lines += [f"defaults: {{user: bob, interface: {interface}, hcas: {hcas}}}", "nodes:", *rows]
    lines += ["links:", *joined] if joined else []
    return "\n".join([*lines, ""])


def tensor(size, *lines, engine="vllm"):
    return native(f"parallel: {{tensor: {size}}}", *lines, engine=engine)


def only(compiled, code):
    """Return the one error, which stops the plan."""
    assert compiled.plan is None
    (found,) = [d for d in compiled.report.diagnostics if d.severity is Severity.ERROR]
    assert found.code == code, compiled.text
    assert found.hint
    return found


@pytest.mark.parametrize(
    ("inventory", "size", "keys"),
    [
        (cabled("mesh", 3), 2, MESH_KEYS),
        (cabled("mesh", 3, [(1, 2), (3, 2), (1, 3)]), 2, MESH_KEYS),
        (cabled("ring", 4, RING), 4, RING_KEYS),
        (cabled("ring", 4, RING), 2, RING_KEYS),
        (cabled("ring", 5, [(5, 4), (1, 2), (5, 1), (3, 2), (3, 4)]), 5, RING_KEYS),
    ],
)
def test_ranks_meet_over_the_management_network_and_talk_over_all_four_hcas(inventory, size, keys):
    compiled = compile_text(tensor(size), inventory)
    assert compiled.codes == []
    for rank in range(size):
        env = compiled.env(rank)
        assert keys.items() <= env.items()
        assert ("NCCL_ALGO" in env) == ("NCCL_ALGO" in keys)
        assert env["NCCL_IB_HCA"] == "=rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1"
        assert {env[key] for key in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")} == {"enP7s7"}
        assert env["VLLM_HOST_IP"] == f"10.0.0.{rank + 1}"
        assert not {key for key in env if key.startswith(("B12X_", "NCCL_SWITCHLESS", "NCCL_PROTO"))}


def test_a_mesh_carries_pipeline_parallel():
    compiled = compile_text(native("parallel: {pipeline: 3}"), cabled("mesh", 3))
    assert (len(compiled.ranks), compiled.codes) == (3, [])


@pytest.mark.parametrize("topology", ["mesh", "ring"])
def test_one_node_is_solo_and_asks_nothing_of_links_or_values(topology):
    compiled = compile_text(native("env: {NCCL_ALGO: Tree, NCCL_SWITCHLESS_RING_ONLY: '1'}"), cabled(topology, 4))
    assert compiled.codes == []
    env = compiled.env()
    assert (env["NCCL_SOCKET_IFNAME"], env["NCCL_IB_DISABLE"], env["NCCL_ALGO"]) == ("lo", "1", "Tree")
    assert MESH_KEYS.keys().isdisjoint(env)


@pytest.mark.parametrize("count", [2, 4])
def test_a_mesh_is_three_nodes(count):
    found = only(compile_text(tensor(2), cabled("mesh", count)), "SPK402")
    assert found.span.line == 3
    assert found.message.endswith(f"the inventory has {count}")


def test_the_links_of_a_mesh_join_all_nodes():
    found = only(compile_text(tensor(2), cabled("mesh", 3, [(1, 2), (3, 2)])), "SPK407")
    assert found.message.endswith("no link joins n1 and n3")
    assert found.span.line == 10


@pytest.mark.parametrize(
    ("count", "links", "problem"),
    [
        (4, [], "the inventory has no links"),
        (4, RING[:3], "n1 has 1 neighbour(s); n4 has 1 neighbour(s)"),
        (4, [*RING, (1, 3)], "n1 has 3 neighbour(s); n3 has 3 neighbour(s)"),
        (4, [*RING, (2, 1)], "4 nodes have 5 links"),
        (6, [(1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4)], "n1, n2, n3 are a ring of their own"),
    ],
)
def test_the_links_of_a_ring_are_one_closed_ring(count, links, problem):
    found = only(compile_text(tensor(2), cabled("ring", count, links)), "SPK407")
    assert found.message == f"topology 'ring' is one closed ring of links, but {problem}"
    assert "{a: n1, b: n2}" in found.hint


def test_a_ring_of_three_is_a_mesh():
    found = only(compile_text(tensor(2), cabled("ring", 3, [(1, 2), (2, 3), (3, 1)])), "SPK402")
    assert "mesh" in found.hint


@pytest.mark.parametrize("chosen", ["n3,n4,n1,n2", "n2,n1,n4,n3"])
def test_a_ring_may_start_anywhere_and_go_either_way(chosen):
    compiled = compile_text(tensor(4), cabled("ring", 4, RING), nodes=chosen)
    assert compiled.codes == []
    assert ",".join(rank.node.name.value for rank in compiled.ranks) == chosen


@pytest.mark.parametrize(
    ("chosen", "rank", "order"),
    [("n1,n2,n4,n3", 2, "n1,n2,n3,n4"), ("n1,n4,n2,n3", 2, "n1,n4,n3,n2"), ("n2,n4,n1,n3", 1, "n2,n1,n4,n3")],
)
def test_ranks_out_of_ring_order_are_told_the_right_one(chosen, rank, order):
    found = only(compile_text(tensor(4), cabled("ring", 4, RING), nodes=chosen), "SPK408")
    assert found.message.startswith(f"rank {rank} is {chosen.split(',')[rank]}, ")
    assert found.message.endswith(f"the order is {order.replace(',', ', ')}")
    assert f"--nodes {order}," in found.hint
    assert found.span.source.name == "inventory.yaml"


@pytest.mark.parametrize(("size", "chosen"), [(2, "n1,n3"), (3, "n1,n2,n3")])
def test_other_parts_of_a_ring_are_refused(size, chosen):
    found = only(compile_text(tensor(size), cabled("ring", 4, RING), nodes=chosen), "SPK402")
    assert found.message.startswith(f"{chosen.replace(',', ', ')} are not joined by cables of their own")
    assert found.hint == "give --nodes n1,n2: next to n1 is n2 or n4"


@pytest.mark.parametrize(("line", "what"), [("{pipeline: 2, tensor: 2}", "pipeline"), ("{data: 4}", "data")])
def test_a_ring_carries_tensor_parallel_only(line, what):
    found = only(compile_text(native(f"parallel: {line}"), cabled("ring", 4, RING)), "SPK410")
    assert f"the {what} parallel size is" in found.message
    assert found.hint.startswith("make the tensor parallel size 4")
    assert (found.span.source.name, found.span.line) == ("demo.yaml", 7)


@pytest.mark.parametrize(("engine", "ray"), [("vllm-ray", None), ("vllm", True)])
def test_a_ring_does_not_carry_ray(engine, ray):
    found = only(compile_text(tensor(4, engine=engine), cabled("ring", 4, RING), ray=ray), "SPK410")
    assert found.message.startswith("topology 'ring' does not carry engine vllm-ray")
    assert found.span.line == 3


@pytest.mark.parametrize(
    ("line", "head", "message", "name"),
    [
        ("env: {NCCL_ALGO: Tree}", "", "NCCL_ALGO=Ring, not 'Tree'", "demo.yaml"),
        ("env: {NCCL_IB_MERGE_NICS: null}", "", "NCCL_IB_MERGE_NICS=0, not no value", "demo.yaml"),
        ("", "env: {NCCL_NET_PLUGIN: ''}", "NCCL_NET_PLUGIN=none, not ''", "inventory.yaml"),
    ],
)
def test_values_contrary_to_the_ring_are_refused_where_they_stand(line, head, message, name):
    found = only(compile_text(tensor(4, line), cabled("ring", 4, RING, head=head)), "SPK411")
    assert found.message == f"ring topology requires {message}"
    assert found.span.source.name == name


def test_the_same_values_and_those_that_lose_are_fine():
    recipe = tensor(4, "env: {NCCL_ALGO: Ring, NCCL_IB_MERGE_NICS: '0'}")
    assert compile_text(recipe, cabled("ring", 4, RING, head="env: {NCCL_ALGO: Tree}")).codes == []


def test_a_mesh_refuses_contrary_values_too_and_leaves_the_algorithm_alone():
    assert compile_text(tensor(2, "env: {NCCL_ALGO: Tree}"), cabled("mesh", 3)).codes == []
    found = only(compile_text(tensor(2), cabled("mesh", 3), env=(("NCCL_IB_MERGE_NICS", "1"),)), "SPK411")
    assert found.message == "mesh topology requires NCCL_IB_MERGE_NICS=0, not '1'"


def test_both_ports_are_needed_where_both_are_used():
    inventory = cabled("mesh", 3, hcas="[rocep1s0f0, roceP2p1s0f0]")
    compiled = compile_text(native("parallel: {pipeline: 3}"), inventory)
    assert (compiled.plan, compiled.codes) == (None, ["SPK409"] * 3)
    assert compile_text(tensor(2), inventory).codes == []


def test_the_interface_of_one_cable_is_a_warning_for_more_than_two():
    compiled = compile_text(tensor(4), cabled("ring", 4, RING, interface="enp1s0f0np0"))
    assert compiled.codes == ["SPK414"] * 4
    assert compiled.plan is not None
    assert compile_text(tensor(2), cabled("ring", 4, RING, interface="enp1s0f0np0")).codes == []


@pytest.mark.parametrize(("value", "warned"), [("mlx5_0", True), ("=mlx5_0", False), ("^mlx5_0", False), ("", False)])
def test_an_hca_list_without_an_equals_sign_is_a_warning(value, warned):
    compiled = compile_text(tensor(2, f"env: {{NCCL_IB_HCA: '{value}'}}"))
    found = [d for d in compiled.report.diagnostics if d.code == "SPK413"]
    assert [(d.severity, d.span.line) for d in found] == ([(Severity.WARNING, 8)] if warned else [])


PATCHED = ["NCCL_SWITCHLESS_RING_ONLY", "NCCL_IB_EXTENDED_IPV4_GIDS", "NCCL_LOCAL_INFERENCE_PATH"]


@pytest.mark.parametrize("key", PATCHED)
def test_a_variable_of_sparkrings_nccl_is_refused_elsewhere_unless_declared(key):
    recipe = tensor(2, f"env: {{{key}: '1'}}")
    found = only(compile_text(recipe), "SPK412")
    assert found.message.startswith(f"{key} does nothing in this image")
    assert found.span.line == 8
    declared = compile_text(f"{recipe}deviations: [{{key: env.{key}, reason: our own build}}]\n")
    assert [(d.code, d.severity) for d in declared.report.diagnostics] == [("SPK412", Severity.WARNING)]
    assert declared.env(1)[key] == "1"
    assert compile_text(recipe.replace("'1'", "'0'")).codes == []
    assert compile_text(recipe.replace(IMAGE, SPARKRING), LAB_PAIR).codes == (["SPK411"] if "RING_ONLY" in key else [])


SPARKRING = f"ghcr.io/fujitsupolycom/sparkring@sha256:{'0' * 64}"
LAB_PAIR = """\
sparkc_inventory: 1
name: lab
topology: pair
nodes:
  - {name: s1, ssh: a@s1, address: 10.0.0.1, interface: e0, hcas: [rocep1s0f0, roceP2p1s0f0]}
  - {name: s2, ssh: a@s2, address: 10.0.0.2, interface: e1, hcas: [rocep1s0f1, roceP2p1s0f1]}
"""
