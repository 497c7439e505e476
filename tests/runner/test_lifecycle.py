"""Starting and stopping on nodes whose docker is a stand-in."""

import fcntl
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.group import Group, Member
from sparkc.runner.layout import root_layout
from sparkc.runner.lifecycle import start, stop, stop_node
from sparkc.runner.processes import Processes
from sparkc.runner.progress import Silent
from support.docker_stand_in import install, names, put_containers
from support.local_connection import LocalConnection
from support.node_facts import manifest


@pytest.fixture
def nodes(tmp_path):
    made = [LocalConnection(tmp_path / f"spark-{number}", f"spark-{number}") for number in (1, 2)]
    for node in made:
        install(node.home / "bin")
    return made


def group(nodes, unreached=None):
    made = manifest()
    ranks = tuple(replace(rank, home=str(node.home)) for rank, node in zip(made.ranks, nodes, strict=True))
    made = replace(made, ranks=ranks)
    members = tuple(
        Member(made, rank, node) for rank, node in zip(ranks, nodes, strict=True) if rank.rank not in (unreached or {})
    )
    for member in members:
        Path(member.folder).mkdir(parents=True, exist_ok=True)
    return Group(made, members, Processes(), unreached or {})


def call_time(node, word):
    calls = (node.home / "calls").read_text().splitlines()
    return next(float(line.split()[0]) for line in calls if line.split()[1] == word)


def test_only_the_bundle_s_own_containers_are_removed(nodes):
    put_containers(nodes[0].home, "a demo demo demo", "b demo-vl demo-vl demo-vl", "c - demolition stranger")
    put_containers(nodes[1].home, "d - other bystander")

    stopped = stop(group(nodes), Silent())

    assert stopped.removed == {0: ("demo",), 1: ()}
    assert stopped.unconfirmed == {}
    assert names(nodes[0].home) == ["demo-vl", "stranger"]
    assert names(nodes[1].home) == ["bystander"]


def test_compose_s_network_goes_with_the_last_container(nodes):
    put_containers(nodes[0].home, "a demo demo demo")
    (nodes[0].home / "network").write_text("network")
    put_containers(nodes[1].home, "a demo demo demo", "b - demo stranger")
    (nodes[1].home / "network").write_text("network")

    stop(group(nodes), Silent())

    assert not (nodes[0].home / "network").exists()
    assert (nodes[1].home / "network").exists()


def test_the_head_is_stopped_first_and_started_last(nodes):
    for node in nodes:
        put_containers(node.home, "a demo demo demo")
    stop(group(nodes), Silent())
    assert call_time(nodes[0], "rm") < call_time(nodes[1], "stop")

    start(group(nodes), Silent())
    assert call_time(nodes[1], "compose") < call_time(nodes[0], "compose")
    assert [names(node.home) for node in nodes] == [["demo"]] * 2


def test_what_cannot_be_confirmed_keeps_nothing_from_being_stopped(nodes):
    for node in nodes:
        put_containers(node.home, "a demo demo demo")
    (nodes[0].home / "stuck").touch()

    stopped = stop(group(nodes), Silent())

    assert stopped.removed == {1: ("demo",)}
    error = stopped.unconfirmed[0]
    assert error.host == "spark-1"
    assert error.message == "containers of demo are still there"
    assert error.output == "device or resource busy"
    assert "ssh spark@spark-1.lan docker ps --all" in (error.hint or "")


def test_docker_without_an_answer_is_not_down(nodes):
    (nodes[1].home / "docker-off").touch()
    put_containers(nodes[0].home)

    stopped = stop(group(nodes), Silent())

    assert stopped.removed == {0: ()}
    assert "Docker gives no answer" in stopped.unconfirmed[1].message
    assert stopped.unconfirmed[1].output == "Cannot connect to the Docker daemon"


def test_a_node_out_of_reach_is_not_down(nodes):
    away = SparkcError("cannot be reached", host="spark-1")
    put_containers(nodes[1].home, "a demo demo demo")

    stopped = stop(group(nodes, unreached={0: away}), Silent())

    assert stopped.removed == {1: ("demo",)}
    assert stopped.unconfirmed == {0: away}


def test_nothing_starts_while_a_node_is_out_of_reach(nodes):
    away = SparkcError("cannot be reached", host="spark-1")

    with pytest.raises(SparkcError) as raised:
        start(group(nodes, unreached={0: away}), Silent())

    assert raised.value is away
    assert not (nodes[1].home / "calls").exists()


def test_a_worker_that_does_not_start_keeps_the_head_from_starting(nodes):
    (nodes[1].home / "broken").write_text("Error response from daemon: No such image: stub:1\n")

    with pytest.raises(SparkcError) as raised:
        start(group(nodes), Silent())

    assert raised.value.host == "spark-2"
    assert raised.value.message == "Compose did not start rank 1 (worker)"
    assert raised.value.output == "Error response from daemon: No such image: stub:1"
    assert "ssh spark@spark-2.lan docker pull registry.example/vllm@" in (raised.value.hint or "")
    assert not (nodes[0].home / "calls").exists()


def test_compose_is_called_on_the_real_path(nodes):
    made = group(nodes)
    home = nodes[0].home
    (home.parent / "elsewhere").mkdir()
    (home / ".local").rename(home.parent / "elsewhere/.local")
    (home / ".local").symlink_to(home.parent / "elsewhere/.local")

    start(made, Silent())

    assert (home / "started-in").read_text().strip() == str(Path(made.members[0].folder).resolve())


def test_a_foreign_container_in_the_project_is_left_alone_and_named(nodes):
    put_containers(nodes[0].home, "x - demo stranger")

    with pytest.raises(SparkcError) as raised:
        start(group(nodes), Silent())

    assert (
        raised.value.message
        == "rank 0 (head) is not started: the Compose project demo has a container that is not ours"
    )
    assert "docker rm --force stranger" in (raised.value.hint or "")
    assert names(nodes[0].home) == ["stranger"]


def test_a_release_that_is_gone_is_named(nodes):
    made = group(nodes)
    Path(made.members[1].folder).rmdir()

    with pytest.raises(SparkcError) as raised:
        start(made, Silent())

    assert made.members[1].folder in raised.value.message


def test_a_stop_waits_for_a_start_that_goes_on_after_its_sparkc_was_interrupted(nodes):
    made = group(nodes)
    put_containers(nodes[0].home)
    with Path(made.members[0].layout.base, ".start-lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        ending = subprocess.Popen(
            [
                "sh",
                "-c",
                'sleep 0.5; echo "late demo demo demo - - running" >"$1"',
                "sh",
                str(nodes[0].home / "containers"),
            ],
            pass_fds=[held.fileno()],
        )
    began = time.monotonic()

    removed = stop_node(nodes[0], root_layout(str(nodes[0].home), "demo"))

    assert removed == ("demo",)
    assert time.monotonic() - began > 0.3
    assert ending.wait() == 0
    assert names(nodes[0].home) == []
