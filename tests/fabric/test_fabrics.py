import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.fabric.registry import fabric_of
from sparkc.inventory.adhoc import adhoc_inventory
from sparkc.inventory.load import read_inventory
from sparkc.reading.read import read_document


def inventory(topology, rows, head="", defaults="user: bob"):
    text = f"sparkc_inventory: 1\ntopology: {topology}\n{head}defaults: {{{defaults}}}\nnodes:\n"
    text += "".join(f"  - {{name: n{i}, ssh: n{i}, {row}}}\n" for i, row in enumerate(rows, start=1))
    report = Report()
    loaded = read_inventory(read_document("inventory.yaml", text.encode(), report), report)
    assert report.diagnostics == ()
    return loaded


def environment(loaded, count, rank):
    nodes = loaded.nodes[:count]
    traced = fabric_of(loaded, IMAGE).environment(nodes[rank], nodes, loaded)
    assert all(value.origin.kind == "rule" and value.origin.reason for value in traced.values())
    return {key: value.value for key, value in traced.items()}


def findings(loaded, count):
    report = Report()
    fabric_of(loaded, IMAGE).check(loaded, loaded.nodes[:count], report)
    assert all(d.hint for d in report.diagnostics)
    return [(d.code, d.severity, d.span.line if d.span else None) for d in report.diagnostics]


IMAGE = "vllm/vllm-openai:v0.33.0"
CABLED = [
    "address: 10.0.0.1, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0]",
    "address: 10.0.0.2, interface: enp1s0f1np1, hcas: [roceP2p1s0f1, rocep1s0f1]",
]
SOLO = {"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}


@pytest.mark.parametrize("topology", ["pair", "switch"])
def test_a_cluster_rank_has_its_own_nodes_interface_and_hcas_in_order(topology):
    loaded = inventory(topology, CABLED)
    assert environment(loaded, 2, 1) == {
        "MN_IF_NAME": "enp1s0f1np1",
        "UCX_NET_DEVICES": "enp1s0f1np1",
        "NCCL_SOCKET_IFNAME": "enp1s0f1np1",
        "GLOO_SOCKET_IFNAME": "enp1s0f1np1",
        "TP_SOCKET_IFNAME": "enp1s0f1np1",
        "OMPI_MCA_btl_tcp_if_include": "enp1s0f1np1",
        "NCCL_IB_HCA": "=roceP2p1s0f1,rocep1s0f1",
        "NCCL_IB_DISABLE": "0",
        "NCCL_NET": "IB",
    }
    assert environment(loaded, 2, 0)["NCCL_IB_HCA"] == "=rocep1s0f0,roceP2p1s0f0"
    assert findings(loaded, 2) == []


@pytest.mark.parametrize("topology", ["single", "pair", "switch", "mesh", "ring"])
def test_one_chosen_node_is_solo_whatever_the_topology(topology):
    loaded = inventory(topology, CABLED)
    assert environment(loaded, 1, 0) == SOLO
    assert findings(loaded, 1) == []


def test_a_pinned_gid_is_set_only_where_there_are_hcas():
    loaded = inventory("pair", [CABLED[0], "address: 10.0.0.2, interface: eth1"], head="gid: {pin: 3}\n")
    assert environment(loaded, 2, 0)["NCCL_IB_GID_INDEX"] == "3"
    assert "NCCL_IB_GID_INDEX" not in environment(loaded, 2, 1)


def test_a_node_without_hcas_turns_rdma_off_and_warns():
    loaded = inventory("pair", [CABLED[0], "address: 10.0.0.2, interface: eth1"])
    env = environment(loaded, 2, 1)
    assert env["NCCL_IB_DISABLE"] == "1"
    assert env["NCCL_SOCKET_IFNAME"] == "eth1"
    assert not {"NCCL_NET", "NCCL_IB_HCA"} & env.keys()
    assert findings(loaded, 2) == [("SPK405", Severity.WARNING, 6)]


def test_a_node_without_an_interface_gets_no_interface_keys_and_warns():
    loaded = inventory("pair", [CABLED[0], "address: 10.0.0.2, hcas: [rocep1s0f0, roceP2p1s0f0]"])
    assert set(environment(loaded, 2, 1)) == {"NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET"}
    assert findings(loaded, 2) == [("SPK404", Severity.WARNING, 6)]


def test_a_cluster_rank_needs_an_address():
    loaded = inventory("switch", [*CABLED, "interface: eth0, hcas: [mlx5_0]"])
    assert findings(loaded, 3) == [("SPK403", Severity.ERROR, 7)]
    assert findings(loaded, 2) == []


def test_a_lone_twin_is_a_warning_with_the_measured_reason():
    loaded = inventory("pair", [CABLED[0], "address: 10.0.0.2, interface: e, hcas: ['roceP2p1s0f1:1', rocep1s0f0]"])
    report = Report()
    fabric_of(loaded, IMAGE).check(loaded, loaded.nodes, report)
    first, second = report.diagnostics
    assert first.message.startswith("node 'n2' lists roceP2p1s0f1 without its twin rocep1s0f1")
    assert second.message.startswith("node 'n2' lists rocep1s0f0 without its twin roceP2p1s0f0")
    assert "98 of 161 Gb/s" in first.message
    assert first.severity is Severity.WARNING


def test_hcas_in_one_network_are_a_warning_with_the_reason():
    near = "hca_addresses: {rocep1s0f0: 10.1.0.1/24, roceP2p1s0f0: 10.1.0.9/24}"
    apart = "hca_addresses: {roceP2p1s0f1: 10.1.0.2/25, rocep1s0f1: 10.1.0.129/25}"
    loaded = inventory("pair", [f"{CABLED[0]}, {near}", f"{CABLED[1]}, {apart}"])
    report = Report()
    fabric_of(loaded, IMAGE).check(loaded, loaded.nodes, report)
    (found,) = report.diagnostics
    assert (found.code, found.severity, found.span.line) == ("SPK415", Severity.WARNING, 5)
    assert found.message.startswith("rocep1s0f0 and roceP2p1s0f0 of node 'n1' are both in 10.1.0.0/24: the kernel")


def test_single_forbids_a_choice_of_several():
    loaded = inventory("single", CABLED)
    assert findings(loaded, 2) == [("SPK402", Severity.ERROR, 2)]


@pytest.mark.parametrize("count", [1, 3])
def test_a_pair_is_two_nodes(count):
    rows = [*CABLED, "address: 10.0.0.3, interface: eth0, hcas: [mlx5_0]"][:count]
    assert findings(inventory("pair", rows), count) == [("SPK402", Severity.ERROR, 2)]


def test_ad_hoc_nodes_are_told_which_flag_is_missing():
    loaded = adhoc_inventory(["10.0.0.1", "10.0.0.2"], "bob", None, [], Report())
    report = Report()
    fabric_of(loaded, IMAGE).check(loaded, loaded.nodes, report)
    assert {(d.code, d.hint) for d in report.diagnostics} == {
        ("SPK404", "give --eth-if NAME"),
        ("SPK405", "give --ib-if NAME,NAME"),
    }


@pytest.mark.parametrize("topology", ["single", "pair", "switch", "mesh", "ring"])
def test_wiring_keys_are_the_ones_that_differ_per_node(topology):
    loaded = inventory(topology, CABLED, head="gid: {pin: 3}\n")
    keys = fabric_of(loaded, IMAGE).wiring_keys
    assert keys >= {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"}
    assert keys >= {"NCCL_IB_DISABLE", "NCCL_NET"}
    assert "VLLM_HOST_IP" not in keys
