"""SparkRing's images: which HCA leads to which rank."""

import pytest

from sparkc.diagnostics import Severity
from support.compile_text import IMAGE, compile_text, native

SPARKRING = f"ghcr.io/fujitsupolycom/sparkring@sha256:{'0' * 64}"
HCAS = "[rocep1s0f0, roceP2p1s0f0, rocep1s0f1, roceP2p1s0f1]"
CLOCKWISE = [(1, 2), (2, 3), (3, 4), (4, 1)]
# Of rank 0 to 3, from the published files of ranks 0, 1 and 3, and by the same rule for rank 2.
MAPS = ["1=0/2,2=0/3,3=1/3", "0=1/3,2=0/2,3=0/3", "0=1/2,1=1/3,3=0/2", "0=0/2,1=1/2,2=1/3"]


def ring(links=CLOCKWISE, *, ports="a_port: 0, b_port: 1", count=4, hcas=HCAS, gid="auto", topology="ring"):
    rows = [f"  - {{name: n{i}, ssh: n{i}, address: 10.0.0.{i}}}" for i in range(1, count + 1)]
    joined = [f"  - {{a: n{a}, b: n{b}{', ' if ports else ''}{ports}}}" for a, b in links]
    head = f"sparkc_inventory: 1\nname: lab\ntopology: {topology}\ngid: {gid}\n"
    head += f"defaults: {{user: bob, interface: eth0, hcas: {hcas}}}\n"
    return "\n".join([f"{head}nodes:", *rows, "links:", *joined, ""])


def recipe(size, *lines, image=SPARKRING):
    return native(f"parallel: {{tensor: {size}}}", *lines).replace(IMAGE, image)


def roce(env):
    keys = ("NCCL_IB_HCA", "B12X_ROCE_HCA", "B12X_ROCE_PEER_HCA_MAP")
    return tuple(env.get(key) for key in keys)


@pytest.mark.parametrize("image", [SPARKRING, "mirror.lan:5000/fujitsupolycom/sparkring:v1@sha256:" + "0" * 64])
def test_a_ring_of_four_gets_the_published_maps(image):
    compiled = compile_text(recipe(4, image=image), ring(gid="{pin: 3}"))
    assert compiled.codes == []
    order = ["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"]
    for rank, peers in enumerate(MAPS):
        env = compiled.env(rank)
        assert roce(env) == ("=" + ",".join(f"{hca}:1" for hca in order), ",".join(order), peers)
        assert env["NCCL_SWITCHLESS_RING_ONLY"] == env["NCCL_IB_EXTENDED_IPV4_GIDS"] == "1"
        assert (env["NCCL_ALGO"], env["B12X_ROCE_OPPOSITE_PATHS"], env["B12X_ROCE_GID_INDEX"]) == ("Ring", "2", "3")
        assert "B12X_ROCE_PAIR_PATHS" not in env


def test_an_unpinned_gid_stays_unset():
    assert "B12X_ROCE_GID_INDEX" not in compile_text(recipe(4), ring()).env()


def test_the_other_way_around_swaps_the_ports():
    env = compile_text(recipe(4), ring(), nodes="n1,n4,n3,n2").env(2)
    assert roce(env)[1:] == ("rocep1s0f1,rocep1s0f0,roceP2p1s0f1,roceP2p1s0f0", MAPS[2])


def test_each_nodes_cables_may_be_in_other_ports():
    mixed = ring().replace("{a: n1, b: n2, a_port: 0, b_port: 1}", "{a: n2, b: n1, a_port: 0, b_port: 0}")
    mixed = mixed.replace("{a: n2, b: n3, a_port: 0, b_port: 1}", "{a: n2, b: n3, a_port: 1, b_port: 1}")
    compiled = compile_text(recipe(4), mixed)
    assert compiled.env(0)["B12X_ROCE_HCA"] == "rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1"
    assert compiled.env(1)["B12X_ROCE_HCA"] == "rocep1s0f1,rocep1s0f0,roceP2p1s0f1,roceP2p1s0f0"


@pytest.mark.parametrize(("chosen", "ports"), [("n1,n2", (0, 1)), ("n4,n3", (1, 0))])
def test_two_neighbours_of_a_ring_use_the_cable_between_them(chosen, ports):
    compiled = compile_text(recipe(2), ring(), nodes=chosen)
    for rank, port in enumerate(ports):
        hcas = f"rocep1s0f{port},roceP2p1s0f{port}"
        assert roce(compiled.env(rank)) == (f"={hcas}", hcas, f"{1 - rank}=0/1")
        assert compiled.env(rank)["B12X_ROCE_PAIR_PATHS"] == "2"
        assert "NCCL_SWITCHLESS_RING_ONLY" not in compiled.env(rank)


def test_a_pair_needs_no_links():
    inventory = ring([(1, 2)], ports="", count=2, hcas="[rocep1s0f0, roceP2p1s0f0]", topology="pair")
    compiled = compile_text(recipe(2), inventory)
    assert roce(compiled.env(1)) == ("=rocep1s0f0,roceP2p1s0f0", "rocep1s0f0,roceP2p1s0f0", "0=0/1")
    assert compiled.env(1)["NCCL_CROSS_NIC"] == "1"
    assert "NCCL_IB_SUBNET_AWARE_ROUTING" not in compiled.env(1)


def test_other_images_and_one_node_get_none_of_it():
    for compiled in (compile_text(recipe(4, image=IMAGE), ring()), compile_text(recipe(1), ring())):
        assert compiled.codes == []
        assert not {key for key in compiled.env() if key.startswith(("B12X_", "NCCL_SWITCHLESS"))}
    assert not {key for key in compile_text(recipe(4)).env() if key.startswith("B12X_")}


@pytest.mark.parametrize(
    ("size", "inventory", "message"),
    [
        (4, ring(ports=""), "the links do not say which port of node 'n1' leads"),
        (4, ring(ports="a_port: 0, b_port: 0"), "the links do not say which port of node 'n1' leads"),
        (4, ring(hcas="[a, b, c, d]"), "node 'n1' does not list rocep1s0f0, rocep1s0f1, roceP2p1s0f0, roceP2p1s0f1"),
        (5, ring([(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)], count=5), "SparkRing's image has no map of HCAs for a ring"),
        (2, ring([], ports="", count=2, topology="pair").replace("links:\n", ""), "node 'n1' lists 4 HCA(s)"),
    ],
)
def test_what_cannot_be_derived_is_an_error(size, inventory, message):
    compiled = compile_text(recipe(size), inventory)
    assert compiled.plan is None
    assert set(compiled.codes) == {"SPK416"}
    assert compiled.report.diagnostics[0].message.startswith(message)


def test_a_map_in_the_recipe_is_a_warning_that_shows_the_derived_ones():
    compiled = compile_text(recipe(4, f"env: {{B12X_ROCE_PEER_HCA_MAP: '{MAPS[0]}'}}"), ring())
    (found,) = compiled.report.diagnostics
    assert (found.code, found.severity) == ("SPK332", Severity.WARNING)
    assert f"{MAPS[2]} (n3)" in found.message


def test_ring_mode_on_a_switch_is_refused():
    compiled = compile_text(recipe(4, "env: {NCCL_SWITCHLESS_RING_ONLY: '1'}"))
    assert compiled.codes == ["SPK411"]
    assert compiled.report.diagnostics[0].message == "switch topology requires NCCL_SWITCHLESS_RING_ONLY=0, not '1'"
