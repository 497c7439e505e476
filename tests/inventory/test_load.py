import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkc import resources
from sparkc.diagnostics import Report, Severity
from sparkc.inventory.checks import SHAPES
from sparkc.inventory.load import CACHES, read_inventory
from sparkc.reading.read import read_document

LAB = """\
sparkc_inventory: 1
name: lab
topology: switch
gid: {pin: 3}
port: 8080
defaults:
  user: spark
  interface: enp1s0f0np0
  hcas: [rocep1s0f0, roceP2p1s0f0]
  memory: 119.7
  env: {NCCL_DEBUG: WARN, OMP_NUM_THREADS: 0016}
  caches: {huggingface: ~/.cache/huggingface}
  limits: {memlock: -1}
env: {TZ: UTC}
caches: {vllm: /data/my vllm}
limits: {nofile: 524288}
nodes:
  - {name: spark-1, ssh: spark-1.lan, address: 192.168.177.11}
  - name: 007
    ssh: root@[fd00::2]:2222
    address: fd00::2
    transfer: 10.0.0.2
    interface: enp1s0f1np1
    hcas: [rocep1s0f1, roceP2p1s0f1]
    home: /srv/my home/
    gpus: 2
    env: {OMP_NUM_THREADS: 8, NCCL_DEBUG: , EMPTY: ""}
    caches: {triton: ~/triton}
    limits: {memlock: 65536}
links: []
"""


def load(text, name="inventory.yaml"):
    report = Report()
    document = read_document(name, text.encode(), report)
    return (read_inventory(document, report) if document is not None else None), report


def errors(text):
    inventory, report = load(text)
    found = [d for d in report.diagnostics if d.severity is Severity.ERROR]
    assert (inventory is None) == bool(found)
    assert all(d.span is not None and d.hint for d in found), found
    return [(f"{d.span.line}:{d.span.column}", d.code, d.message) for d in found]


def nodes(*rows, head=""):
    return "sparkc_inventory: 1\n" + head + "nodes:\n" + "".join(f"  - {{{row}}}\n" for row in rows)


def test_a_whole_inventory():
    inventory, report = load(LAB)
    assert report.diagnostics == ()
    first, second = inventory.nodes
    assert (inventory.name, inventory.kind, inventory.topology.value) == ("lab", "file", "switch")
    assert (inventory.gid.value, inventory.port.value) == (3, 8080)
    assert {key: value.value for key, value in inventory.env.items()} == {"TZ": "UTC"}
    assert inventory.caches["vllm"].value == "/data/my vllm"
    assert inventory.limits["nofile"].value == 524288
    assert (first.ssh.value, first.user.value, first.home.value) == ("spark-1.lan", "spark", "/home/spark")
    assert [hca.value for hca in first.hcas] == ["rocep1s0f0", "roceP2p1s0f0"]
    assert first.memory.value == 119.7
    assert first.gpu_count == 1
    assert second.name.value == "007"
    assert (second.user.value, second.home.value, second.gpu_count) == ("root", "/srv/my home", 2)
    assert second.interface.value == "enp1s0f1np1"
    assert [hca.value for hca in second.hcas] == ["rocep1s0f1", "roceP2p1s0f1"]
    assert second.transfer.value == "10.0.0.2"


def test_a_value_from_the_defaults_is_traced_to_their_line():
    inventory, _ = load(LAB)
    origin = inventory.nodes[0].interface.origin
    assert (origin.text, origin.span.line) == ("inventory.yaml: defaults.interface", 8)


def test_maps_are_merged_name_by_name_and_remember_what_they_replaced():
    inventory, _ = load(LAB)
    first, second = inventory.nodes
    assert {key: value.value for key, value in first.env.items()} == {"NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "0016"}
    assert {key: value.value for key, value in second.env.items()} == {
        "NCCL_DEBUG": None,
        "OMP_NUM_THREADS": "8",
        "EMPTY": "",
    }
    assert second.env["OMP_NUM_THREADS"].overrode.value == "0016"
    assert {key: value.value for key, value in second.caches.items()} == {
        "huggingface": "~/.cache/huggingface",
        "triton": "~/triton",
    }
    assert second.limits["memlock"].value == 65536


def test_toml_gives_the_same_inventory():
    toml = """\
sparkc_inventory = 1
name = "lab"
gid = {pin = 3}
[defaults]
user = "spark"
memory = 119.7
[[nodes]]
name = "a"
ssh = "a.lan"
address = "10.0.0.1"
env = {A = "1"}
"""
    inventory, report = load(toml, "inventory.toml")
    assert report.diagnostics == ()
    assert inventory.nodes[0].env["A"].value == "1"
    assert inventory.nodes[0].memory.value == 119.7
    assert inventory.gid.value == 3


@pytest.mark.parametrize(
    ("count", "topology"),
    [(1, "single"), (2, "pair"), (3, "switch"), (8, "switch")],
)
def test_the_usual_topology_for_a_number_of_nodes(count, topology):
    inventory, _ = load(nodes(*(f"name: n{i}, ssh: bob@n{i}" for i in range(count))))
    assert inventory.topology.value == topology
    assert inventory.topology.origin.kind == "default"


@pytest.mark.parametrize(
    ("file", "name"), [("inventory.yaml", "inventory"), ("clusters/my lab.yaml", "my-lab"), ("-.yaml", "inventory")]
)
def test_an_inventory_without_a_name_is_called_like_its_file(file, name):
    inventory, _ = load(nodes("name: a, ssh: bob@a"), file)
    assert inventory.name == name


@pytest.mark.parametrize(
    ("row", "user", "home"),
    [
        ("name: a, ssh: bob@a", "bob", "/home/bob"),
        ("name: a, ssh: a, user: bob", "bob", "/home/bob"),
        ("name: a, ssh: root@a", "root", "/root"),
        ("name: a, ssh: a", "spark", "/home/spark"),
        ("name: a, ssh: a, home: /", "spark", "/"),
    ],
)
def test_the_nearest_user_counts_and_gives_the_home(row, user, home):
    inventory, _ = load(nodes(row, head="defaults: {user: spark}\n"))
    assert (inventory.nodes[0].user.value, inventory.nodes[0].home.value) == (user, home)


def test_gid_auto_leaves_the_key_unset():
    inventory, report = load(nodes("name: a, ssh: bob@a", head="gid: auto\n"))
    assert inventory.gid is None
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    ("row", "code", "message"),
    [
        ("name: a b, ssh: bob@a", "SPK201", "nodes[0].name must be letters, digits"),
        ("name: -oX, ssh: bob@a", "SPK201", "nodes[0].name must be letters, digits"),
        ('name: "a\\n", ssh: bob@a', "SPK201", "nodes[0].name must be letters, digits"),
        ("name: a, ssh: -oProxyCommand=x", "SPK202", "nodes[0].ssh is '-oProxyCommand=x'"),
        ("name: a, ssh: 'bob@-x'", "SPK202", "nodes[0].ssh is 'bob@-x'"),
        ("name: a, ssh: 'bob@a:0022'", "SPK202", "nodes[0].ssh is 'bob@a:0022'"),
        ("name: a, ssh: 'bob@a:65536'", "SPK202", "nodes[0].ssh is 'bob@a:65536'"),
        ("name: a, ssh: 'bob@a b'", "SPK202", "nodes[0].ssh is 'bob@a b'"),
        ("name: a, ssh: [fd00::2]", "SPK021", "nodes[0].ssh must be text, not a list"),
        ("name: a, ssh: bob@a, transfer: '$(id)'", "SPK202", "nodes[0].transfer is '$(id)'"),
        ("name: a, ssh: a, user: 'b$b'", "SPK201", "user of node 'a' must be a login name"),
        ("name: a, ssh: al@a, user: bo", "SPK206", "node 'a' has user 'bo', but ssh logs in as 'al'"),
        ("name: a, ssh: a", "SPK205", "node 'a' has no user"),
        ("name: a, ssh: bob@a, home: home/bob", "SPK201", "home of node 'a' must be an absolute path"),
        ("name: a, ssh: bob@a, interface: 'eth0,eth1'", "SPK201", "interface of node 'a' must be the name of one"),
        ("name: a, ssh: bob@a, hcas: ['=rocep1s0f0']", "SPK201", "HCA of node 'a' must be the name of one HCA"),
        ("name: a, ssh: bob@a, hcas: 'x,y'", "SPK021", "nodes[0].hcas must be a list, not 'x,y'"),
        ("name: a, ssh: bob@a, hcas: [x, x]", "SPK204", "HCA 'x' is listed twice"),
        ("name: a, ssh: bob@a, address: a.lan", "SPK203", "address of node 'a': 'a.lan' is not an IP address"),
        ("name: a, ssh: bob@a, address: 127.0.0.1", "SPK203", "address of node 'a': '127.0.0.1' is a loopback"),
        ("name: a, ssh: bob@a, memory: 1e9", "SPK207", "memory is '1e9', but must be a number of GiB"),
        ("name: a, ssh: bob@a, memory: '0'", "SPK021", "nodes[0].memory must be a number, not '0'"),
        ("name: a, ssh: bob@a, gpus: 0", "SPK023", "nodes[0].gpus is 0, but must be at least 1"),
        ("name: a, ssh: bob@a, env: {A.B: x}", "SPK201", "key of nodes[0].env must be a variable name"),
        ("name: a, ssh: bob@a, caches: {vllm: cache}", "SPK201", "nodes[0].caches.vllm must be an absolute path"),
        ("name: a, ssh: bob@a, caches: {vllm: ~bob/x}", "SPK201", "nodes[0].caches.vllm must be an absolute path"),
        ("name: a, ssh: bob@a, caches: {vlm: ~/x}", "SPK020", "unknown key 'nodes[0].caches.vlm'"),
        ("name: a, ssh: bob@a, limits: {nofile: 0022}", "SPK022", "nodes[0].limits.nofile has a leading zero"),
        ("name: a, ssh: bob@a, limits: {nofile: -1}", "SPK023", "nodes[0].limits.nofile is -1"),
        ("name: a, ssh: bob@a, adress: 10.0.0.1", "SPK020", "unknown key 'nodes[0].adress'"),
        ("name: a", "SPK030", "nodes[0] needs the key 'ssh'"),
    ],
)
def test_a_faulty_node_is_one_located_error(row, code, message):
    found = errors(nodes(row))
    assert [(line.split(":")[0], found_code) for line, found_code, _ in found] == [("3", code)]
    assert found[0][2].startswith(message)


@pytest.mark.parametrize(
    ("head", "code"),
    [
        ("gid: 3\n", "SPK208"),
        ("gid: Auto\n", "SPK208"),
        ("gid: {pin: 256}\n", "SPK023"),
        ("gid: {pni: 3}\n", "SPK020"),
        ("topology: star\n", "SPK031"),
        ("port: 0\n", "SPK023"),
        ("name: a/b\n", "SPK201"),
        ("defaults: {ssh: x}\n", "SPK020"),
        ("links: [{a: a, b: z}]\n", "SPK209"),
    ],
)
def test_a_fault_outside_the_nodes(head, code):
    found = errors(nodes("name: a, ssh: bob@a", head=head))
    assert code in [found_code for _, found_code, _ in found]
    assert all(line.startswith("2:") for line, _, _ in found)


def test_did_you_mean():
    _, report = load(nodes("name: a, ssh: bob@a, adress: 10.0.0.1"))
    assert report.diagnostics[0].hint == "did you mean 'address'?"
    _, report = load(nodes("name: spark-1, ssh: bob@a", head="links: [{a: spark-1, b: sprak-1}]\n"))
    assert report.diagnostics[0].hint == "did you mean 'spark-1'?"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("name: a, ssh: x@a", "name: A, ssh: x@b", "name 'A' is already taken by node 'a' (written 'a')"),
        ("name: a, ssh: x@h", "name: b, ssh: y@H:22", "ssh 'y@H:22' of node 'b' is already taken by node 'a'"),
        ("name: a, ssh: 'x@fd00::2'", "name: b, ssh: 'x@[FD00:0::2]'", "ssh 'x@[FD00:0::2]' of node 'b'"),
        (
            "name: a, ssh: x@a, address: fd00::2",
            "name: b, ssh: x@b, address: FD00::0:2",
            "address 'FD00::0:2' of node 'b' is already taken by node 'a' (written 'fd00::2')",
        ),
        (
            "name: a, ssh: x@a, address: 10.0.0.1",
            "name: b, ssh: x@b, address: '::ffff:10.0.0.1'",
            "address '::ffff:10.0.0.1' of node 'b'",
        ),
        ("name: a, ssh: x@a, transfer: t", "name: b, ssh: x@b, transfer: T", "transfer 'T' of node 'b'"),
    ],
)
def test_what_two_nodes_share_is_an_error_with_both_places(first, second, message):
    _, report = load(nodes(first, second))
    (found,) = report.diagnostics
    assert found.message.startswith(message)
    assert (found.code, found.span.line, found.related[0].span.line) == ("SPK204", 4, 3)


def test_two_ports_of_one_host_are_two_machines():
    assert errors(nodes("name: a, ssh: x@gate:2201", "name: b, ssh: x@gate:2202")) == []


def test_all_faults_come_in_one_run_in_the_order_of_the_file():
    text = nodes(
        "name: a, ssh: bob@a, address: localhost, adress: x",
        "name: a, ssh: bob@b, memory: 8GB",
        head="topolgy: pair\n",
    )
    assert [(line.split(":")[0], code) for line, code, _ in errors(text)] == [
        ("2", "SPK020"),
        ("4", "SPK203"),
        ("4", "SPK020"),
        ("5", "SPK204"),
        ("5", "SPK021"),
    ]


def test_the_schema_and_the_reader_have_the_same_patterns():
    schema = json.loads(resources.read_text("schemas", "inventory.schema.json"))
    definitions = schema["definitions"]
    in_schema = {
        "name": schema["properties"]["nodes"]["items"]["properties"]["name"],
        "user": definitions["user"],
        "home": definitions["home"],
        "interface": definitions["interface"],
        "hca": definitions["hcas"]["items"],
        "cache": definitions["cache"],
        "env": definitions["env"]["propertyNames"],
    }
    assert in_schema.keys() == SHAPES.keys()
    for shape, (pattern, _, example) in SHAPES.items():
        assert pattern.fullmatch(example)
        ours = pattern.pattern.encode().decode("unicode_escape")
        assert in_schema[shape]["pattern"].encode().decode("unicode_escape") == f"^{ours}$"
    assert tuple(definitions["caches"]["properties"]) == CACHES


def described(part, path="inventory"):
    if isinstance(part, dict):
        for key in ("properties", "definitions"):
            for name, inner in part.get(key, {}).items():
                assert "$ref" in inner or inner.get("description"), f"{path}.{name} has no description"
                described(inner, f"{path}.{name}")
        assert not {"oneOf", "anyOf", "allOf"} & part.keys(), path
        described(part.get("items"), f"{path}[]")
        if part.get("type") == "object" and "properties" in part:
            assert part["additionalProperties"] is False, path


@pytest.mark.parametrize("kind", ["inventory", "recipe"])
def test_every_property_of_the_schemas_is_described_for_editors(kind):
    described(json.loads(resources.read_text("schemas", f"{kind}.schema.json")), kind)


@st.composite
def mutations(draw):
    lines = LAB.splitlines()
    values = st.sampled_from(["", "~", "[]", "{}", "- x", "0x1F", "1e999", "[a, {b: c}]", '"\\0"', "nodes", "-1", "é"])
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "double", "value", "key", "text"]))
        if kind == "drop":
            lines[index] = ""
        elif kind == "double":
            lines.insert(index, lines[index])
        elif kind == "value" and ":" in lines[index]:
            lines[index] = f"{lines[index].split(':')[0]}: {draw(values)}"
        elif kind == "key":
            lines[index] = lines[index].replace(draw(st.sampled_from(["name", "ssh", "env", "nodes"])), "other")
        else:
            lines[index] = draw(st.text(max_size=20))
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(mutations())
def test_no_input_raises_and_every_error_is_located(text):
    errors(text)
