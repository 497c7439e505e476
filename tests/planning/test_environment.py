"""The environment of a rank: layers, provenance, and what is said about them."""

import pytest

from support.compile_text import LAB, compile_text, native, v1

TWO = ("parallel: {tensor: 2}",)


def chain(compiled, key, rank=0):
    """Return kind and value from the winning layer down."""
    traced, found = compiled.ranks[rank].environment.get(key), []
    while traced is not None:
        found.append((traced.origin.kind, traced.value))
        traced = traced.overrode
    return found


def test_every_layer_covers_the_one_below_and_remembers_it():
    inventory = LAB.replace("nodes:", "env: {A: inventory, B: inventory, C: inventory, D: inventory}\nnodes:").replace(
        "address: 10.0.0.1", "address: 10.0.0.1, env: {B: node, C: node, D: node}"
    )
    compiled = compile_text(native("env: {C: recipe, D: recipe}"), inventory, env=(("D", "flag"),))
    assert chain(compiled, "A") == [("file", "inventory")]
    assert chain(compiled, "B") == [("file", "node"), ("file", "inventory")]
    assert chain(compiled, "C") == [("file", "recipe"), ("file", "node"), ("file", "inventory")]
    assert chain(compiled, "D") == [("flag", "flag"), ("file", "recipe"), ("file", "node"), ("file", "inventory")]
    environment = compiled.ranks[0].environment
    assert environment["D"].origin.text == "-e D"
    assert environment["C"].origin.text == "demo.yaml: env.C"
    assert environment["A"].origin.span.line == 5


def test_defaults_engine_and_fabric_lie_below():
    compiled = compile_text(
        native(
            *TWO, "env: {NCCL_IGNORE_CPU_AFFINITY: '0', VLLM_HOST_IP: '{node.address}', NCCL_IB_DISABLE: '{node.name}'}"
        )
    )
    assert chain(compiled, "NCCL_IGNORE_CPU_AFFINITY") == [("file", "0"), ("default", "1")]
    assert chain(compiled, "VLLM_HOST_IP", 1) == [("file", "10.0.0.2"), ("file", "10.0.0.2")]
    assert chain(compiled, "NCCL_IB_DISABLE", 1) == [("file", "s2"), ("rule", "0")]


def test_the_cluster_environment_is_each_nodes_own():
    compiled = compile_text(native(*TWO))
    names = "NCCL_SOCKET_IFNAME GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME MN_IF_NAME UCX_NET_DEVICES"
    interface = dict.fromkeys([*names.split(), "OMPI_MCA_btl_tcp_if_include"], "enp1s0f1np1")
    assert compiled.env(1) == interface | {
        "VLLM_HOST_IP": "10.0.0.2",
        "NCCL_IB_HCA": "=rocep1s0f1,roceP2p1s0f1",
        "NCCL_IB_DISABLE": "0",
        "NCCL_NET": "IB",
        "NCCL_IGNORE_CPU_AFFINITY": "1",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    assert list(compiled.env(1)) == sorted(compiled.env(1))


def test_the_solo_environment():
    assert compile_text(native()).env() == {
        "VLLM_HOST_IP": "127.0.0.1",
        "NCCL_SOCKET_IFNAME": "lo",
        "GLOO_SOCKET_IFNAME": "lo",
        "TP_SOCKET_IFNAME": "lo",
        "NCCL_IB_DISABLE": "1",
        "NCCL_IGNORE_CPU_AFFINITY": "1",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }


def test_null_is_absent_and_empty_is_empty():
    compiled = compile_text(
        native(*TWO, "env: {NCCL_NET: null, MN_IF_NAME: '', PYTORCH_CUDA_ALLOC_CONF: null}"),
        env=(("PYTORCH_CUDA_ALLOC_CONF", "x"), ("EMPTY", "")),
    )
    env = compiled.env()
    assert "NCCL_NET" not in env
    assert (env["MN_IF_NAME"], env["EMPTY"], env["PYTORCH_CUDA_ALLOC_CONF"]) == ("", "", "x")
    assert chain(compiled, "PYTORCH_CUDA_ALLOC_CONF") == [("flag", "x"), ("default", "expandable_segments:True")]


def test_flags_for_nccl_and_build_jobs_lie_below_e():
    compiled = compile_text(native(), nccl_debug="INFO", jobs=4, env=(("MAKEFLAGS", "-j1"),))
    env = compiled.env()
    assert (env["NCCL_DEBUG"], env["MAX_JOBS"], env["CMAKE_BUILD_PARALLEL_LEVEL"]) == ("INFO", "4", "4")
    assert (env["NINJAFLAGS"], env["MAKEFLAGS"]) == ("-j4", "-j1")
    assert chain(compiled, "MAKEFLAGS") == [("flag", "-j1"), ("flag", "-j4")]


def test_one_fixed_value_for_several_ranks_is_a_warning_with_what_it_hides(snapshot):
    compiled = compile_text(native(*TWO, "env: {NCCL_SOCKET_IFNAME: enp1s0f0np0}"))
    assert compiled.env(1)["NCCL_SOCKET_IFNAME"] == "enp1s0f0np0"
    assert compiled.text == snapshot


@pytest.mark.parametrize(
    ("lines", "inventory", "overrides"),
    [
        ((*TWO, "env: {NCCL_SOCKET_IFNAME: '{node.interface}'}"), LAB, {}),
        (("env: {NCCL_SOCKET_IFNAME: eth0}",), LAB, {}),  # one rank
        (
            TWO,
            LAB.replace("nodes:", "env: {NCCL_IB_HCA: x}\nnodes:").replace("ssh:", "env: {NCCL_IB_HCA: own}, ssh:"),
            {},
        ),
        ((*TWO, "env: {NCCL_SOCKET_IFNAME: enp1s0f0np0}"), LAB, {"nodes": "s1,s3"}),  # the value that both have
    ],
)
def test_values_that_hide_nothing(lines, inventory, overrides):
    assert "SPK332" not in compile_text(native(*lines), inventory, **overrides).codes


def test_the_wiring_warning_knows_every_layer_and_every_kind_of_key():
    inventory = LAB.replace("nodes:", "env: {NCCL_IB_HCA: '=x'}\nnodes:")
    compiled = compile_text(native(*TWO), inventory, env=(("UCX_NET_DEVICES", "eth9"), ("NCCL_NET", "Socket")))
    messages = [found.message for found in compiled.report.diagnostics if found.code == "SPK332"]
    assert messages == [
        (
            "NCCL_IB_HCA is '=x' on every rank; it hides the per-node values =rocep1s0f0,roceP2p1s0f0 (s1),"
            " =rocep1s0f1,roceP2p1s0f1 (s2)"
        ),
        "NCCL_NET is 'Socket' on every rank; it hides the per-node values IB (s1), IB (s2)",
        "UCX_NET_DEVICES is 'eth9' on every rank; it hides the per-node values enp1s0f0np0 (s1), enp1s0f1np1 (s2)",
    ]


def test_a_fixed_value_on_some_of_the_ranks():
    inventory = LAB.replace("nodes:", "env: {MN_IF_NAME: x}\nnodes:").replace(
        "ssh: s3", "env: {MN_IF_NAME: y}, ssh: s3"
    )
    compiled = compile_text(native("parallel: {tensor: 3}"), inventory)
    (warning,) = (found for found in compiled.report.diagnostics if found.code == "SPK332")
    assert (
        "MN_IF_NAME is 'x' on 2 ranks; it hides the per-node values enp1s0f0np0 (s1), enp1s0f1np1 (s2)"
        in warning.message
    )


def test_one_host_address_for_all_ranks_is_refused():
    compiled = compile_text(native(*TWO, "env: {VLLM_HOST_IP: 10.0.0.1}"))
    assert compiled.codes == ["SPK332", "SPK320"]
    assert "VLLM_HOST_IP must be each node's own address, got 10.0.0.1, 10.0.0.1" in compiled.text
    assert compile_text(native(*TWO, "env: {VLLM_HOST_IP: null}")).codes == ["SPK320"]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("NCCL_SOCKET_IFNAM", "NCCL_SOCKET_IFNAME"),
        ("NCCL_SOKCET_IFNAME", "NCCL_SOCKET_IFNAME"),
        ("NCCL_IB_HCAS", "NCCL_IB_HCA"),
        ("VLLM_HOST_1P", "VLLM_HOST_IP"),
        ("nccl_ib_hca", "NCCL_IB_HCA"),
        ("NCCL_DEBG", "NCCL_DEBUG"),
    ],
)
@pytest.mark.parametrize("where", ["recipe", "flag", "inventory", "node"])
def test_near_misses_of_known_keys(key, meant, where):
    inventory = LAB
    if where == "inventory":
        inventory = LAB.replace("nodes:", f"env: {{{key}: x}}\nnodes:")
    if where == "node":
        inventory = LAB.replace("ssh: s1", f"env: {{{key}: x}}, ssh: s1")
    recipe = native(f"env: {{{key}: x}}") if where == "recipe" else native()
    compiled = compile_text(recipe, inventory, env=((key, "x"),) if where == "flag" else ())
    assert [(found.code, found.hint) for found in compiled.report.diagnostics] == [("SPK333", f"did you mean {meant}?")]


@pytest.mark.parametrize("key", ["NCCL_IB_TC", "NCCL_DEBUG_SUBSYS", "HF_HOME", "NCCL_DEBUG", "NCCL_IB_GID_INDEX"])
def test_other_keys_are_nobodys_near_miss(key):
    assert compile_text(native(f"env: {{{key}: x}}")).codes == []


@pytest.mark.parametrize(("key", "code"), [("A B", "SPK330"), ("1A", "SPK330"), ("A-B", "SPK330"), ("É", "SPK330")])
def test_what_is_no_name_of_a_variable(key, code):
    assert code in compile_text(native(), env=((key, "x"),)).codes


def test_values_stay_as_typed():
    value = """ $HOME "q" 'q' #x \\ é 😀\n2 """
    assert compile_text(native(), env=(("A", value),)).env()["A"] == value
    assert compile_text(v1("A='x y' vllm serve m", "env: {B: 0123, C: NO, D: 24.10}")).env().items() >= {
        ("A", "x y"),
        ("B", "0123"),
        ("C", "NO"),
        ("D", "24.10"),
    }


@pytest.mark.parametrize("key", ["WORKSPACE_DIR", "PWD", "IFS"])
def test_what_the_shell_sets_itself_is_told(key):
    assert "SPK334" in compile_text(native(f"env: {{{key}: /mine}}")).codes
