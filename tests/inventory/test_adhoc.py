from sparkc.diagnostics import Report
from sparkc.inventory.adhoc import adhoc_inventory
from sparkc.inventory.example import example_inventory


def test_nodes_from_flags():
    report = Report()
    inventory = adhoc_inventory(["10.0.0.1", "10.0.0.2"], "bob", "eth1", ["rocep1s0f0", "roceP2p1s0f0"], report)
    assert report.diagnostics == ()
    assert (inventory.kind, inventory.topology.value) == ("ad-hoc", "pair")
    first, second = inventory.nodes
    assert (first.name.value, first.ssh.value, first.address.value) == ("node-1", "10.0.0.1", "10.0.0.1")
    assert (second.name.value, second.home.value, second.interface.value) == ("node-2", "/home/bob", "eth1")
    assert [hca.value for hca in second.hcas] == ["rocep1s0f0", "roceP2p1s0f0"]
    origins = {str(value.origin) for value in (first.address, first.user, first.interface, first.hcas[0])}
    assert origins == {"--nodes", "--user", "--eth-if", "--ib-if"}


def test_every_faulty_flag_is_reported():
    report = Report()
    assert adhoc_inventory(["10.0.0.1", "::ffff:10.0.0.1", "localhost"], "b b", "eth0,eth1", ["=x"], report) is None
    assert [(d.code, d.message.split(" must")[0]) for d in report.diagnostics] == [
        ("SPK201", "--user"),
        ("SPK201", "--eth-if"),
        ("SPK201", "--ib-if"),
        ("SPK204", "--nodes lists ::ffff:10.0.0.1 twice"),
        ("SPK203", "--nodes: 'localhost' is not an IP address"),
    ]
    assert all(d.hint for d in report.diagnostics)


def test_a_missing_user_says_which_flag_to_add():
    report = Report()
    assert adhoc_inventory(["10.0.0.1"], None, None, [], report) is None
    assert report.diagnostics[0].hint == "add --user NAME, or write an inventory: sparkc init"


def test_the_example_is_eight_sparks_on_a_switch():
    inventory = example_inventory()
    assert (inventory.name, inventory.kind, inventory.topology.value) == ("example", "example", "switch")
    assert [node.name.value for node in inventory.nodes] == [f"spark-{number}" for number in range(1, 9)]
    assert [node.address.value for node in inventory.nodes] == [f"192.168.177.1{number}" for number in range(1, 9)]
    assert {node.home.value for node in inventory.nodes} == {"/home/spark"}
