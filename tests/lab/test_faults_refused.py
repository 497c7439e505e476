"""What is wrong with a node before a deploy: refused with its name and what to type; nothing that runs is touched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from lab.deployment import Deployment
from lab.node import Node
from lab.stub_image import TAG, stub

pytestmark = pytest.mark.lab

# Listens on the port in its argument until its standard input ends.
_LISTEN = (
    "import socket, sys; s = socket.create_server(('', int(sys.argv[1]))); print('up', flush=True); sys.stdin.read()"
)
# A socket that nothing listens at any more.
_DEAD_SOCKET = "import socket; socket.socket(socket.AF_UNIX).bind('/run/docker.sock')"


def check_refused(demo, fault, *words, deploy=("deploy", "demo")):
    """Deploy with a fault: it is refused in these words, everything is as before, and without the fault it would do."""
    before = demo.containers()
    with fault:
        done = demo.sparkc(*deploy, "--yes")
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert [word for word in words if word not in said] == [], said
    assert "nothing was changed" in said
    assert "Traceback" not in said
    assert demo.containers() == before
    assert all(demo.new["group_digest"] not in demo.releases(node) for node in demo.nodes)
    demo.check_serving(demo.old)
    again = demo.sparkc(*deploy, "--dry-run")
    assert again.returncode == 0, again.stderr


# ssh


@contextmanager
def key_is_not_let_in(node: Node) -> Iterator[None]:
    keys = node.folder / "authorized_keys"
    text = keys.read_text("utf-8")
    keys.write_text("", "utf-8")
    yield
    keys.write_text(text, "utf-8")


@contextmanager
def other_host_key(node: Node) -> Iterator[None]:
    """The control machine remembers the key of another node for this one."""
    known = node.facts.folder / "control/.ssh/known_hosts"
    text = known.read_text("utf-8")
    lines = text.splitlines()
    mine, other = lines[node.index], lines[node.index - 1]
    lines[node.index] = mine.partition(" ")[0] + " " + other.partition(" ")[2]
    known.write_text("\n".join(lines) + "\n", "utf-8")
    yield
    known.write_text(text, "utf-8")


@contextmanager
def no_host_key(node: Node) -> Iterator[None]:
    known = node.facts.folder / "control/.ssh/known_hosts"
    text = known.read_text("utf-8")
    known.write_text("", "utf-8")
    yield
    known.write_text(text, "utf-8")


# Docker and the disk


@contextmanager
def docker_is_dead(node: Node) -> Iterator[None]:
    """Its socket is there and nothing listens; the containers run on."""
    node.run(["mv", "/run/docker.sock", "/run/docker.sock.away"])
    node.run(["python3", "-c", _DEAD_SOCKET])
    node.run(["chmod", "666", "/run/docker.sock"])
    yield
    node.run(["mv", "/run/docker.sock.away", "/run/docker.sock"])


@contextmanager
def docker_hangs(node: Node) -> Iterator[None]:
    node.docker.pause()
    yield
    node.docker.resume()


@contextmanager
def full_disk(node: Node) -> Iterator[None]:
    node.fill("/home/spark/.local/share/sparkc", "64k")
    yield
    node.unfill("/home/spark/.local/share/sparkc")


@contextmanager
def no_image(node: Node) -> Iterator[None]:
    image = node.docker.images()[TAG]
    node.docker.remove_image(TAG)  # takes the name away: containers still use the image
    yield
    name, _, tag = TAG.partition(":")
    node.docker.api("POST", f"/images/{image}/tag?repo={name}&tag={tag}")


@contextmanager
def other_fabric_address(node: Node) -> Iterator[None]:
    node.set_address("rail-a", "192.168.177.99")
    yield
    node.heal_all()


Fault = Callable[[Node], AbstractContextManager[None]]
FAULTS: dict[str, tuple[Fault, tuple[str, ...]]] = {
    "other host key": (other_host_key, ("error: spark-2: its host key is not the one", "ssh-keygen -R spark-2")),
    "no host key": (no_host_key, ("its host key is not known yet", "type `ssh spark@spark-2` once")),
    "dead docker": (docker_is_dead, ("error: spark-2: Docker does not answer", "systemctl restart docker")),
    "full disk": (full_disk, ("error: spark-2: only", "free on /home/spark/.local/share/sparkc", "docker system df")),
    "no image": (
        no_image,
        (
            f"error: spark-2: the image {TAG} is not there",
            f"ssh spark@spark-1 docker save {TAG} | ssh spark@spark-2 docker load",
        ),
    ),
    "fabric address": (
        other_fabric_address,
        (
            "error: spark-2: the address 192.168.177.12 is on no interface of the node",
            "not on enp1s0f0np0, which has 192.168.177.99",
            "correct `address:`",
        ),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_one_node(demo, name):
    fault, words = FAULTS[name]

    check_refused(demo, fault(demo.nodes[1]), *words)


def test_all_nodes_are_told_of_at_once(demo):
    @contextmanager
    def both() -> Iterator[None]:
        with key_is_not_let_in(demo.nodes[0]), docker_hangs(demo.nodes[1]):
            yield

    check_refused(
        demo,
        both(),
        "error: spark-1: does not let spark in",
        "ssh-copy-id spark@spark-1",
        "error: spark-2: Docker does not answer",
        "ssh -t spark@spark-2 sudo systemctl restart docker",
        "nothing was changed: 2 errors",
    )


# What a bundle needs of its nodes


def test_missing_mount(demo):
    demo.new = demo.compile({"MOUNT": "1"}, "mounts: [{source: ~/templates, target: /templates}]\n")
    make = ["mkdir", "/home/spark/templates"]
    demo.nodes[0].run(make, user="spark")

    @contextmanager
    def not_there() -> Iterator[None]:
        yield
        demo.nodes[1].run(make, user="spark")

    check_refused(
        demo,
        not_there(),
        "error: spark-2: /home/spark/templates is not there, which the container mounts",
        "ssh spark@spark-2 mkdir -p /home/spark/templates",
    )


@contextmanager
def images(demo: Deployment, name: str, odd: object) -> Iterator[None]:
    """The image ``name`` on all nodes, on the last one another than on the others; then the same on all."""
    *good, last = demo.nodes
    for node in good:
        node.docker.load_image(stub(name))
    if odd is not None:
        last.docker.load_image(odd)
    yield
    last.docker.load_image(stub(name))


def test_wrong_architecture(demo):
    demo.new = demo.compile({"IMAGE": "arch"}, image="lab/odd:1")

    check_refused(
        demo,
        images(demo, "lab/odd:1", stub("lab/odd:1", architecture="s390x")),
        "error: spark-2: the image lab/odd:1 is for linux/s390x, the node is ",
        "ssh spark@spark-2 docker pull --platform linux/",
    )


def test_other_layers(demo):
    demo.new = demo.compile({"IMAGE": "layers"}, image="lab/layers:1")

    check_refused(
        demo,
        images(demo, "lab/layers:1", stub("lab/layers:1", extra="one more")),
        "error: the nodes have different images under the name lab/layers:1",
        "\n    spark-1  ",
        "\n    spark-2  ",
        "pin it by digest",
    )


def test_image_nowhere(demo):
    demo.new = demo.compile({"IMAGE": "none"}, image="lab/none:1")

    @contextmanager
    def nowhere() -> Iterator[None]:
        yield
        for node in demo.nodes:
            node.docker.load_image(stub("lab/none:1"))

    check_refused(
        demo,
        nowhere(),
        "error: spark-1, spark-2: the image lab/none:1 is not there",
        "ssh spark@spark-1 docker pull lab/none:1",
        "ssh spark@spark-2 docker pull lab/none:1",
    )


# What others have on the nodes


@contextmanager
def listening(node: Node, port: int) -> Iterator[None]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(node.enter(["python3", "-c", _LISTEN, str(port)], user="spark"), **pipes) as process:
        assert process.stdout.readline() == b"up\n"
        yield
        process.stdin.close()


def compile_as(demo, *options):
    done = demo.sparkc("compile", "demo", *options)
    assert done.returncode == 0, done.stderr


def test_port_of_a_foreign_process(demo):
    compile_as(demo, "--port", "8123")
    demo.new = demo.manifest()

    check_refused(
        demo,
        listening(demo.nodes[0], 8123),
        "error: spark-1: port 8123 (api) is held by python3 (process ",
        "stop it, or compile with another port",
    )


@contextmanager
def foreign_container(node: Node, name: str, project: str | None) -> Iterator[None]:
    labels = {} if project is None else {"com.docker.compose.project": project}
    made = node.docker.run(name, TAG, ["sleep", "infinity"], Labels=labels, HostConfig={"Init": True})
    yield
    assert node.docker.inspect(name)["State"]["Running"]
    assert node.docker.inspect(name)["Id"] == made
    node.docker.remove(name)


@pytest.mark.parametrize(
    ("name", "project", "what"),
    [
        ("second", None, "a container named second is there that sparkc did not start"),
        ("theirs", "second", "the container theirs of somebody else belongs to a Compose project named second"),
    ],
)
def test_foreign_container(demo, name, project, what):
    compile_as(demo, "--name", "second")

    check_refused(
        demo,
        foreign_container(demo.nodes[1], name, project),
        f"error: spark-2: {what}",
        f"ssh spark@spark-2 docker rm --force {name}",
        deploy=("deploy", "second", "--replace", "demo"),
    )
