"""The look's script, run for real by bash on this machine, with a home of its own and a stand-in for docker."""

import fcntl
import hashlib
import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from sparkc.bundle.manifest import FileEntry, to_bytes
from sparkc.runner.facts import Snapshot
from sparkc.runner.look import look
from sparkc.runner.node_script import parse_reply
from sparkc.runner.query import ModelPlace, Query
from support.node_facts import COMMIT, docker_container, manifest, rank

DOCKER = """\
#!/bin/bash
here=${0%/*}
case "$1 $2" in
'ps --all') cat "$here/ids" ;;
'info --format') printf '/\\nversion\\t28.3.0\\nengine\\tAB:CD\\n' ;;
'compose version') echo 2.39.1 ;;
'container inspect') cat "$here/containers" ;;
'image inspect') printf '[{"Id": "sha256:5", "Architecture": "arm64", "Name": "%s"}]' "$3" ;;
esac
"""


class Local:
    """A connection to this machine: the script as a node runs it."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def run(self, script, *, timeout):
        path = f"{self.home}/bin:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", "-s"],
            input=script.text.encode(),
            capture_output=True,
            env={"HOME": str(self.home), "PATH": path, "TMPDIR": "/nowhere"},
            timeout=timeout,
            check=False,
        )
        reply = parse_reply(script, done.stdout.decode())
        assert reply is not None, done
        assert reply.code == 0
        assert done.stderr == b""
        return reply


@pytest.fixture
def node(tmp_path):
    """A home with a docker that has no containers."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").write_text(DOCKER)
    (tmp_path / "bin/docker").chmod(0o755)
    (tmp_path / "bin/ids").write_text("")
    (tmp_path / "bin/containers").write_text("")
    return tmp_path


def asked(node, **query):
    return look(Local(node), Query(**{"home": str(node), **query}))


def containers(node, *names):
    (node / "bin/ids").write_text("WARNING: something odd\n" + "".join(f"{'f' * 64}\n" for _ in names))
    (node / "bin/containers").write_text("".join(f"{docker_container(name)}\n" for name in names))


def put(node, text, *path):
    file = node.joinpath(*path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_bare_machine(node):
    facts = asked(node)
    assert (facts.home, facts.user) == (str(node), subprocess.check_output(["id", "-un"], text=True).strip())
    assert facts.uid == os.getuid()
    assert facts.architecture == os.uname().machine
    assert facts.memory_total > facts.memory_available > 0
    assert (facts.docker, facts.docker_error, facts.engine_id, facts.compose) == ("28.3.0", None, "AB:CD", "2.39.1")
    assert (facts.containers, facts.image, facts.bundles, facts.neighbours) == ((), None, (), {})
    assert (facts.releases.kept, facts.releases.current, facts.releases.lock) == ((), None, None)
    assert facts.root.source == f"{node}/.local/share/sparkc"
    assert (facts.root.kind, facts.root.creatable) == (None, True)
    assert all(size > 0 for size in facts.disk_free.values())
    assert "lo" in facts.interfaces
    assert facts.stray == ""


def test_what_docker_has(node):
    containers(node, "demo", "qwen")
    facts = asked(node, image="registry.example/vllm:1")
    assert [container.name for container in facts.containers] == ["demo", "qwen"]
    assert facts.image.architecture == "arm64"


def test_a_docker_that_refuses(node):
    (node / "bin/docker").write_text("#!/bin/sh\necho 'permission denied while trying' >&2\necho 'more' >&2\nexit 1\n")
    facts = asked(node, image="x")
    assert (facts.docker, facts.docker_error) == (None, "permission denied while trying more")
    assert facts.image is None


def test_containers_that_cannot_be_inspected_are_not_taken_for_none(node):
    (node / "bin/ids").write_text(f"{'f' * 64}\n")
    facts = asked(node)
    assert (facts.containers, facts.docker_error) == ((), "the containers cannot be inspected")


def test_paths_of_every_kind(node):
    put(node, "", "a file")
    (node / "folder $(touch x)").mkdir()
    paths = ("a file", "folder $(touch x)", "folder $(touch x)/new/deep", "bin")
    facts = asked(node, paths=(*(f"{node}/{path}" for path in paths), "/dev/null"))
    assert [mount.kind for mount in facts.mounts] == ["file", "directory", None, "directory", "other"]
    assert facts.mounts[1].writable
    assert facts.mounts[2].creatable
    assert [mount.source for mount in facts.mounts][:4] == [f"{node}/{path}" for path in paths]
    assert not Path("x").exists()
    assert facts.mounts[0].owner == facts.user


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_we_may_not_write_to(node):
    (node / "shut").mkdir(mode=0o555)
    facts = asked(node, paths=(f"{node}/shut", f"{node}/shut/new"))
    assert [(mount.writable, mount.creatable) for mount in facts.mounts] == [(False, False), (False, False)]


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_listener_of_our_own_is_named(node, family, address):
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip("no such address here")
    with server:
        port = server.getsockname()[1]
        facts = asked(node, ports=(port, 1))
        found = facts.listeners[port]
        assert (found.uid, found.pid) == (os.getuid(), os.getpid())
        assert found.process == Path("/proc/self/comm").read_text().strip()
        assert 1 not in facts.listeners
    assert asked(node, ports=(port,)).listeners.get(port) is None


# Releases


def release(node, name="demo", secrets=None, **changes):
    """Put one release of a bundle with one file on the node, as the current one."""
    data = b"A=1\n"
    file = FileEntry("rank-0-spark-1/rank.env", hashlib.sha256(data).hexdigest(), "0644")
    made = manifest(name=name, files=(file,), **changes)
    base = node / ".local/share/sparkc" / name
    folder = base / "releases" / made.group_digest
    put(folder, data.decode(), name, file.path)
    (folder / name / "bundle.json").write_bytes(to_bytes(made))
    put(folder, "1796085000\n", "deployed")
    if secrets is not None:
        put(folder, secrets, ".sparkc-secrets.env")
    (base / "current").unlink(missing_ok=True)
    (base / "current").symlink_to(f"releases/{made.group_digest}")
    return folder


def test_releases_as_they_are_on_the_node(node):
    folder = release(node, secrets="HF_TOKEN=x\n")
    (node / ".local/share/sparkc/demo/releases/.incoming-x").mkdir()
    facts = asked(node, bundle="demo")
    (kept,) = facts.releases.kept
    assert (kept.digest, kept.deployed, kept.changed) == ("d" * 64, 1796085000.0, ())
    assert kept.secrets_sha256 == hashlib.sha256(b"HF_TOKEN=x\n").hexdigest()
    assert facts.releases.current == "d" * 64
    assert facts.releases.manifest == (folder / "demo/bundle.json").read_bytes()
    assert facts.bundles == ("demo",)


def test_a_release_that_somebody_changed(node):
    folder = release(node)
    put(folder, "A=2\n", "demo", "rank-0-spark-1", "rank.env")
    put(folder, "x", "demo", "rank-0-spark-1", "with space\nand line")
    (folder / "demo/rank-0-spark-1/link").symlink_to("/etc/passwd")
    assert asked(node, bundle="demo").releases.kept[0].changed == (
        "rank-0-spark-1/link",
        "rank-0-spark-1/rank.env",
        "rank-0-spark-1/with space\nand line",
    )


def test_links_that_lead_nowhere(node):
    base = release(node).parent.parent
    (base / "current").unlink()
    (base / "current").symlink_to("releases/gone")
    (base / "previous").symlink_to(f"releases/{'d' * 64}")
    found = asked(node, bundle="demo").releases
    assert (found.current, found.previous, found.manifest) == (None, "d" * 64, None)


def test_bundles_beside_ours_tell_their_manifest_while_they_have_a_container(node):
    release(node)
    other = release(node, "qwen", ranks=(rank(0, ports=({"name": "api", "number": 9000},)),))
    release(node, "idle")
    containers(node, "qwen", "demo")
    facts = asked(node, bundle="demo")
    assert facts.bundles == ("demo", "idle", "qwen")
    assert facts.neighbours == {"qwen": (other / "qwen/bundle.json").read_bytes()}


def test_a_lock_is_alive_while_its_keeper_holds_the_file(node):
    text = "who=ana@laptop\npid=7\ndoing=deploy\nsince=1\ndeadline=9999999999\n"
    file = put(node, text, ".local/share/sparkc/demo/lock/holder")
    with file.open() as keeper:
        fcntl.flock(keeper, fcntl.LOCK_EX)
        lock = asked(node, bundle="demo").releases.lock
        assert (lock.who, lock.pid, lock.doing, lock.alive) == ("ana@laptop", 7, "deploy", True)
        put(node, "abandoned=1\n", ".local/share/sparkc/demo/lock/abandoned")
        assert not asked(node, bundle="demo").releases.lock.alive
        (node / ".local/share/sparkc/demo/lock/abandoned").unlink()
    assert not asked(node, bundle="demo").releases.lock.alive


def test_without_a_bundle_only_names_are_told(node):
    release(node)
    facts = asked(node)
    assert (facts.bundles, facts.releases.kept) == (("demo",), ())


# Models


def hub(node, files, revision=COMMIT, ref="main"):
    """Put a snapshot into a cache as the Hub's client does: links into blobs, and a reference without a line end."""
    repository = node / "hub/models--org--model"
    for name, text in files.items():
        put(repository, text, "blobs", name.replace("/", "-"))
        link = repository / "snapshots" / revision / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(repository / "blobs" / name.replace("/", "-"), link.parent))
    if ref is not None:
        put(repository, revision, "refs", ref)
    return repository


def snapshot(node, revision=""):
    place = ModelPlace("org/model", hub=True, folder=f"{node}/hub/models--org--model", revision=revision)
    (found,) = asked(node, models=(place,)).models
    return found.revision, found.missing


INDEX = json.dumps(
    {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}, indent=2
)
WHOLE = {
    "config.json": "{}",
    "model.safetensors.index.json": INDEX,
    "model-00001-of-00002.safetensors": "x",
    "model-00002-of-00002.safetensors": "x",
}


@pytest.mark.parametrize("revision", ["", "main", COMMIT])
def test_a_whole_model(node, revision):
    hub(node, WHOLE)
    assert snapshot(node, revision) == (COMMIT, ())


def test_a_revision_that_is_not_there(node):
    assert snapshot(node) == (None, ())
    hub(node, WHOLE, ref=None)
    assert snapshot(node) == (None, ())
    assert snapshot(node, "b" * 40) == (None, ())
    assert snapshot(node, COMMIT) == (COMMIT, ())


def test_shards_that_the_index_lists_and_links_that_lead_nowhere(node):
    repository = hub(
        node, {name: text for name, text in WHOLE.items() if "00002-of" not in name} | {"tokenizer.json": "{}"}
    )
    (repository / "blobs/tokenizer.json").unlink()
    assert snapshot(node) == (COMMIT, ("model-00002-of-00002.safetensors", "tokenizer.json"))


def test_shards_without_an_index_and_a_model_without_weights(node):
    hub(node, {name: text for name, text in WHOLE.items() if "index" not in name})
    assert snapshot(node) == (COMMIT, ("model.safetensors.index.json",))


@pytest.mark.parametrize(
    ("name", "missing"), [("model.safetensors", ()), ("q4/model.gguf", ()), ("config.json", ("the weights",))]
)
def test_weights_in_other_forms(node, name, missing):
    hub(node, {name: "x"})
    assert snapshot(node) == (COMMIT, missing)


def test_models_by_path(node):
    put(node, "x", "models", "model.safetensors")
    put(node, "x", "one.gguf")
    places = [ModelPlace(name, hub=False, folder=f"{node}/{name}") for name in ("models", "one.gguf", "none")]
    user = asked(node).user
    assert asked(node, models=tuple(places)).models == (
        Snapshot("models", "", (), user),
        Snapshot("one.gguf", "", (), user),
        Snapshot("none", None, (), None),
    )


def test_a_peer_that_refuses_is_reached_and_no_address_is_a_command(node):
    facts = asked(node, peers=("127.0.0.1", "$(touch x)"), interface="lo")
    assert (facts.unreachable, facts.narrow) == ((), ())
    assert not Path("x").exists()
