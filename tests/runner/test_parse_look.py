"""The answer of a look, as records; lines that are no answer are passed over."""

import hashlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.bundle.manifest import to_bytes
from sparkc.runner.facts import Hca, Interface, Listener, Mount, Snapshot
from sparkc.runner.parse_docker import parse_containers, timestamp
from sparkc.runner.parse_look import parse_facts
from sparkc.runner.parse_releases import parse_lock, parse_releases
from sparkc.runner.query import ModelPlace, Query
from support.node_facts import COMMIT, docker_container, manifest

QUERY = Query(
    home="/home/spark",
    bundle="demo",
    paths=("/srv/models", "/home/spark/.cache/vllm"),
    models=(
        ModelPlace("org/model", hub=True, folder="/hub/models--org--model"),
        ModelPlace("/models/x", hub=False, folder="/srv/x"),
        ModelPlace("org/draft", hub=True, folder="/hub/models--org--draft"),
    ),
)
SECTIONS = {
    "node": "clock\t1796085904.25\nuser\tspark\nuid\t1000\nhome\t/home/spark\nmachine\taarch64\n"
    "path\t/usr/bin:/bin\nrsync\t3.2.7\ndriver\t580.95.05\ngpu_support\tyes\n",
    "docker": "version\t28.3.0\nengine\tAB:CD\ncompose\t2.39.1\n",
    "containers": docker_container("qwen") + "\nnot json\n" + docker_container("demo", Health={"Status": "starting"}),
    "image": "[]\n",
    "listeners": "socket\t1F90\t0\t111\nsocket\t0016\t0\t222\nsocket\t1F90\t0\t333\n"
    f"process\t111\t42\t{'e' * 64}\tpython3\n",
    "paths": "directory\tyes\tyes\tspark\text2/ext3\ndirectory\tno\tno\troot\tnfs\nnone\tno\tyes\tspark\text2/ext3\n",
    "disks": "   1000 /\n2000 /home/my disk\n",
    "interfaces": "interface\tlo\tunknown\t65536\ninterface\tenp1s0f0np0\tup\t9000\n"
    "address\tenp1s0f0np0\t192.168.177.11\naddress\tenp1s0f0np0\tfe80::1\n",
    "hcas": "hca\trocep1s0f0\tACTIVE\n"
    "gid\trocep1s0f0\t3\t0000:0000:0000:0000:0000:ffff:c0a8:b10b\tRoCE v2\tenp1s0f0np0\nhca\troceP2p1s0f0\tDOWN\n",
    "models": f"model\t0\nrevision\t{COMMIT}\nowner\troot\nmissing\ta.safetensors\nmissing\tb.safetensors\n"
    "model\t1\nrevision\t\nowner\tspark\nmodel\t2\n",
    "memory": "MemTotal:       1000 kB\nMemAvailable:    800 kB\nBuffers:  10 kB\nCached:  300 kB\nShmem:  50 kB\n"
    "SwapTotal:         4 kB\nHugePages_Total:       0\nCmaTotal: 8 kB\nCmaFree: 16 kB\n",
    "bundles": "qwen\ndemo\n",
    "neighbour qwen": '{"sparkc_bundle": 1}',
    "links": "current\t\nprevious\t\n",
    "peers": "silent\t192.168.177.12\nnarrow\t192.168.177.13\n",
}


@pytest.fixture
def facts():
    return parse_facts(QUERY, SECTIONS, "Welcome\n\n")


def test_the_node_itself(facts):
    assert (facts.clock, facts.user, facts.uid, facts.home) == (1796085904.25, "spark", 1000, "/home/spark")
    assert (facts.architecture, facts.path, facts.rsync, facts.driver) == (
        "aarch64",
        "/usr/bin:/bin",
        "3.2.7",
        "580.95.05",
    )
    assert (facts.gpu_support, facts.rdma, facts.stray) == (True, False, "Welcome")
    assert (facts.memory_total, facts.memory_available, facts.page_cache) == (1024000, 819200, 260 * 1024)
    assert (facts.swap_total, facts.cma_total, facts.cma_free) == (4096, 8192, 16384)
    assert facts.disk_free == {"/": 1000, "/home/my disk": 2000}


def test_docker(facts):
    assert (facts.docker, facts.docker_error, facts.compose, facts.engine_id) == ("28.3.0", None, "2.39.1", "AB:CD")
    assert [(c.name, c.health, c.started) for c in facts.containers] == [
        ("demo", "starting", datetime(2026, 9, 20, 10, 0, 0, 500000, UTC).timestamp()),
        ("qwen", None, datetime(2026, 9, 20, 10, 0, 0, 500000, UTC).timestamp()),
    ]
    assert facts.of("demo").host_network
    assert facts.of("dem") is None
    assert facts.image is None


@pytest.mark.parametrize(
    ("section", "error"),
    [
        ("missing\tyes\ncompose\t\n", "there is no docker program"),
        ("error\tpermission denied\ncompose\t2.39.1\n", "permission denied"),
        ("version\t\nengine\t\ncompose\t2.39.1\n", "the Docker Engine does not answer"),
        ("", "the Docker Engine does not answer"),
    ],
)
def test_no_docker(section, error):
    found = parse_facts(QUERY, SECTIONS | {"docker": section}, "")
    assert (found.docker, found.docker_error, found.engine_id) == (None, error, None)


def test_what_listens(facts):
    assert facts.listeners == {8080: Listener(0, "python3", 42, "e" * 64), 22: Listener(0)}


def test_paths_keep_their_order(facts):
    assert facts.root == Mount("/home/spark/.local/share/sparkc", "directory", True, "spark", True, "ext2/ext3")
    assert facts.mounts == (
        Mount("/srv/models", "directory", False, "root", False, "nfs"),
        Mount("/home/spark/.cache/vllm", None, False, "spark", True, "ext2/ext3"),
    )


def test_the_fabric(facts):
    assert facts.interfaces["enp1s0f0np0"] == Interface("enp1s0f0np0", "up", 9000, ("192.168.177.11", "fe80::1"))
    assert facts.hcas == {
        "roceP2p1s0f0": Hca("roceP2p1s0f0", "DOWN", {}),
        "rocep1s0f0": Hca(
            "rocep1s0f0", "ACTIVE", {3: ("0000:0000:0000:0000:0000:ffff:c0a8:b10b", "RoCE v2", "enp1s0f0np0")}
        ),
    }
    assert (facts.unreachable, facts.narrow) == (("192.168.177.12",), ("192.168.177.13",))


def test_models(facts):
    assert facts.models == (
        Snapshot("org/model", COMMIT, ("a.safetensors", "b.safetensors"), "root"),
        Snapshot("/models/x", "", (), "spark"),
        Snapshot("org/draft", None, (), None),
    )


def test_bundles(facts):
    assert facts.bundles == ("demo", "qwen")
    assert facts.neighbours == {"qwen": b'{"sparkc_bundle": 1}'}


def test_published_ports_and_odd_containers():
    line = json.loads(docker_container("web"))
    line |= {
        "network": "bridge",
        "labels": None,
        "ports": {"80/tcp": [{"HostPort": "8080"}], "53/udp": [{"HostPort": "53"}], "1/tcp": None},
    }
    (found,) = parse_containers(json.dumps(line))
    assert (found.published, found.host_network, found.bundle, found.labels) == ((8080,), False, None, {})
    (odd,) = parse_containers('{"id": 5, "state": null, "ports": []}')
    assert (odd.id, odd.state, odd.serves) == ("", "", False)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0001-01-01T00:00:00Z", None),
        ("2026-09-20T10:00:00Z", 1789898400.0),
        ("2026-09-20T10:00:00.123456789Z", 1789898400.123456),
        ("2026-09-20T12:00:00.5+02:00", 1789898400.5),
        ("2026-09-20T12:00:00+02:00", 1789898400.0),
        ("yesterday", None),
        (None, None),
    ],
)
def test_docker_s_times(text, seconds):
    assert timestamp(text) == seconds


# Releases


def kept(text_of_file="A=1\n", **changes):
    """Sections of one intact release with one file, and its manifest."""
    path = "rank-0-spark-1/rank.env"
    made = manifest(files=())
    digest = hashlib.sha256(b"A=1\n").hexdigest()
    data = json.loads(to_bytes(made)) | {
        "files": [
            {"path": path, "sha256": digest, "mode": "0644"},
            {"path": "rank-1-spark-2/x", "sha256": digest, "mode": "0644"},
        ]
    }
    own = hashlib.sha256(text_of_file.encode()).hexdigest()
    name = made.group_digest
    return {
        "links": f"current\treleases/{name}\nprevious\treleases/{'c' * 64}\n",
        f"release {name}": f"deployed\t1796085000\nsecrets\t{'5' * 64}  -\nfile\t{own}  ./{path}\n"
        f"file\t{'0' * 64}  ./bundle.json\n",
        f"manifest {name}": json.dumps(data),
    } | changes


def test_an_intact_release():
    found = parse_releases(kept(), 0)
    (release,) = found.kept
    assert (release.digest, release.deployed, release.changed) == ("d" * 64, 1796085000.0, ())
    assert release.secrets_sha256 == "5" * 64
    assert (found.current, found.previous, found.lock) == ("d" * 64, None, None)
    assert json.loads(found.manifest)["name"] == "demo"
    assert found.ports == {"1" * 64: (8000, 29501), "2" * 64: ()}


def test_changed_missing_and_foreign_files_of_a_release():
    name = f"release {'d' * 64}"
    assert parse_releases(kept("A=2\n"), 0).kept[0].changed == ("rank-0-spark-1/rank.env",)
    lines = f"{kept()[name]}file\t{'0' * 64}  ./rank-0-spark-1/.env\nother\t./rank-0-spark-1/link\n"
    assert parse_releases(kept(**{name: lines}), 0).kept[0].changed == ("rank-0-spark-1/.env", "rank-0-spark-1/link")
    gone = f"file\t{'0' * 64}  ./rank-0-spark-1/compose.yaml\n"
    assert parse_releases(kept(**{name: gone}), 0).kept[0].changed == (
        "rank-0-spark-1/compose.yaml",
        "rank-0-spark-1/rank.env",
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"group_digest": "x", "files": []}', '{"files": 5}'])
def test_a_release_whose_bundle_json_is_not_its_own_is_changed(text):
    assert parse_releases(kept(**{f"manifest {'d' * 64}": text}), 0).kept[0].changed == ("bundle.json",)


def test_a_release_without_a_rank_is_changed():
    assert parse_releases(kept(**{f"release {'d' * 64}": "deployed\t\n"}), 0).kept[0].changed == ("the rank's folder",)


def test_file_names_that_sha256sum_escapes():
    name = f"release {'d' * 64}"
    lines = kept()[name] + f"file\t\\{'0' * 64}  ./rank-0-spark-1/a\\nb\\\\n\n"
    assert parse_releases(kept(**{name: lines}), 0).kept[0].changed == ("rank-0-spark-1/a\nb\\n",)


def test_newest_release_first():
    sections = {f"release {c * 64}": f"deployed\t{time}\n" for c, time in (("a", "5"), ("b", "7"), ("c", "x"))}
    assert [release.digest[0] for release in parse_releases(sections, 0).kept] == ["b", "a", "c"]


def test_a_lock_and_when_it_is_dead():
    text = "who=ana@laptop\npid=77\ndoing=deploy demo=1\nsince=100\ndeadline=200\n"
    held = parse_lock(text, 150)
    assert (held.who, held.pid, held.doing, held.since, held.deadline) == ("ana@laptop", 77, "deploy demo=1", 100, 200)
    assert held.alive
    assert not parse_lock(text, 201).alive
    assert not parse_lock(text + "abandoned=1\n", 150).alive
    assert not parse_lock("", 150).alive


@given(st.dictionaries(st.sampled_from([*SECTIONS, "lock", f"release {'d' * 64}"]), st.text(max_size=80)))
def test_any_answer_gives_facts(sections):
    parse_facts(QUERY, sections, "")


@given(
    st.dictionaries(
        st.sampled_from(["listeners", "hcas", "models", "interfaces", "peers", "paths", "node", "containers"]),
        st.lists(
            st.tuples(
                st.sampled_from(["socket", "process", "hca", "gid", "model", "missing", "address", "interface"]),
                st.lists(st.sampled_from(["1F90", "x", "", "7", "{}"]), min_size=1, max_size=5),
            ).map(lambda row: "\t".join([row[0], *row[1]])),
            max_size=8,
        ).map("\n".join),
    )
)
def test_any_rows_give_facts(sections):
    parse_facts(QUERY, sections, "")
