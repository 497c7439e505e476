"""Links between nodes and addresses of HCAs in a native inventory."""

import pytest

from sparkc.diagnostics import Report
from sparkc.inventory.load import read_inventory
from sparkc.reading.read import read_document

NODES = """\
nodes:
  - {name: a, ssh: bob@a, hcas: [rocep1s0f0, "roceP2p1s0f0:1"]}
  - {name: b, ssh: bob@b}
"""


def load(*lines, nodes=NODES):
    report = Report()
    text = "\n".join(["sparkc_inventory: 1", *lines, nodes])
    return read_inventory(read_document("inventory.yaml", text.encode(), report), report), report


def errors(*lines, nodes=NODES):
    loaded, report = load(*lines, nodes=nodes)
    assert loaded is None
    assert all(d.hint for d in report.diagnostics)
    return [(d.code, d.message, d.span.line, d.span.column) for d in report.diagnostics]


def test_links_keep_their_ends_and_ports_in_the_order_written():
    loaded, report = load("links:", "  - {a: a, b: b, a_port: 0, b_port: 1}", "  - {b: a, a: b}")
    assert report.diagnostics == ()
    values = [[end and end.value for end in (x.a, x.b, x.a_port, x.b_port)] for x in loaded.links]
    assert values == [["a", "b", 0, 1], ["b", "a", None, None]]
    assert loaded.links[0].a.origin.text == "inventory.yaml: links[0].a"


def test_no_links_are_none():
    assert load()[0].links == load("links: []")[0].links == ()


@pytest.mark.parametrize(
    ("link", "code", "message", "column"),
    [
        ("{a: a, b: a}", "SPK210", "both ends of this link are on node 'a'", 18),
        ("{a: a, b: c}", "SPK209", "links[0].b names node 'c', which is not in the inventory", 18),
        ("{a: a, b: b, a_port: 2}", "SPK023", None, 29),
    ],
)
def test_an_unusable_link_is_told_where_it_stands(link, code, message, column):
    ((found, text, line, at),) = errors(f"links: [{link}]")
    assert (found, line, at) == (code, 2, column + 1)
    assert message in (None, text)


def hca_addresses(value):
    return NODES.replace("hcas:", f"hca_addresses: {{{value}}}, hcas:")


def test_addresses_of_hcas_are_kept_as_written():
    loaded, report = load(nodes=hca_addresses("rocep1s0f0: 10.1.0.1/24, roceP2p1s0f0: 'fd00::1/64'"))
    assert report.diagnostics == ()
    found = {hca: address.value for hca, address in loaded.nodes[0].hca_addresses.items()}
    assert found == {"rocep1s0f0": "10.1.0.1/24", "roceP2p1s0f0": "fd00::1/64"}
    assert loaded.nodes[1].hca_addresses == {}


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("rocep1s0f0: 10.1.0.1", "SPK212"),
        ("rocep1s0f0: 10.1.0.1/33", "SPK212"),
        ("rocep1s0f0: 10.1.0.300/24", "SPK212"),
        ("rocep1s0f1: 10.1.0.1/24", "SPK211"),
    ],
)
def test_an_unusable_address_of_an_hca(value, code):
    (found,) = errors(nodes=hca_addresses(value))
    assert (found[0], found[2]) == (code, 3)
