"""sparkc status, logs, exec and down, on stand-ins for nodes that run the real scripts."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys

import pytest

from sparkc.cli.exec import command_line
from support.docker_stand_in import install, names, put_containers
from support.local_nodes import LocalNodes

INVENTORY = """\
sparkc_inventory: 1
name: lab
topology: switch
defaults: {{user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0]}}
nodes:
  - {{name: spark-a, ssh: spark-a, home: {folder}/spark-a, address: 10.0.0.1}}
  - {{name: spark-b, ssh: spark-b, home: {folder}/spark-b, address: 10.0.0.2}}
"""
HOSTS = ("spark-a", "spark-b")


class Cluster:
    """A project with the bundle ``tiny`` for two nodes, which is deployed."""

    def __init__(self, project, nodes):
        self.project, self.nodes = project, nodes
        assert project.run("compile", "tiny").code == 0
        self.folder = project.root / "out/tiny"
        self.manifest = json.loads((self.folder / "bundle.json").read_text())
        for host in HOSTS:
            release = nodes.put_release(host, "tiny", self.manifest["group_digest"], 1_800_000_000)
            shutil.copy(self.folder / "bundle.json", release / "tiny/bundle.json")
            nodes.link(host, "tiny", "current", self.manifest["group_digest"])
            (nodes.home(host) / "log").write_text("2026-11-30T10:00:00.000000001Z hello\n")
        self.set("running", "running")

    def home(self, host):
        return self.nodes.home(host)

    def set(self, *states):
        """Let both nodes have a container of the bundle, and a stranger."""
        for rank, (host, state) in enumerate(zip(HOSTS, states, strict=True)):
            digest = self.manifest["ranks"][rank]["digest"]
            ours = f"{'a' * 63}{rank} tiny tiny tiny {rank} {digest} {state}"
            put_containers(self.home(host), ours, f"{'b' * 64} - - bystander")

    def run(self, *arguments):
        return self.project.run(*arguments)

    def forget(self):
        """The bundle's folder is gone."""
        shutil.rmtree(self.folder)


@pytest.fixture
def cluster(project, tmp_path_factory, monkeypatch):
    nodes = LocalNodes(tmp_path_factory.mktemp("nodes"), *HOSTS)
    install(nodes.folder / "bin")
    monkeypatch.setenv("PATH", nodes.path)
    project.write("inventory.yaml", INVENTORY.format(folder=nodes.folder))
    return Cluster(project, nodes)


def rows(text):
    return [line.split()[:3] for line in text.splitlines() if line[:1] in "01?"]


@pytest.mark.parametrize("arguments", [("tiny",), ("out/tiny",), ()])
def test_status_of_a_bundle_that_serves(cluster, arguments):
    done = cluster.run("status", *arguments)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("tiny serves at http://spark-a:8000\n")
    assert rows(done.out) == [["0", "spark-a", "running"], ["1", "spark-b", "running"]]
    assert cluster.manifest["group_digest"][:12] in done.out


def test_status_by_name_without_the_folder(cluster):
    cluster.forget()

    done = cluster.run("status", "tiny")

    assert done.code == 0
    assert rows(done.out) == [["0", "spark-a", "running"], ["1", "spark-b", "running"]]


def test_status_of_a_node_out_of_reach_is_unknown(cluster):
    cluster.nodes.switch_off("spark-b")

    done = cluster.run("status", "tiny")

    assert done.code == 1
    assert done.out.startswith("tiny cannot be judged: not all of its nodes can be seen\n")
    assert rows(done.out)[1] == ["1", "spark-b", "unknown"]
    assert "spark-b: rank 1 is unknown: cannot be reached" in done.out


def test_status_of_a_rank_that_exited(cluster):
    cluster.set("running", "exited")

    done = cluster.run("status", "tiny")

    assert done.code == 1
    assert done.out.startswith("tiny does not serve\n")
    assert "exited (3)" in done.out


def test_status_when_nothing_runs(cluster):
    for host in HOSTS:
        put_containers(cluster.home(host))

    of_one, of_all = cluster.run("status", "tiny"), cluster.run("status")

    assert (of_one.code, of_one.out.splitlines()[0]) == (1, "tiny does not run")
    assert (of_all.code, of_all.out) == (0, "no bundle runs on spark-a, spark-b\n")


def test_status_for_programs(cluster):
    cluster.nodes.switch_off("spark-b")

    found = json.loads(cluster.run("status", "--json").out)

    (bundle,) = found["bundles"]
    assert (bundle["bundle"], bundle["serves"], bundle["group_digest"]) == (
        "tiny",
        False,
        cluster.manifest["group_digest"],
    )
    assert [(rank["rank"], rank["state"], rank["serves"]) for rank in bundle["ranks"]] == [
        (0, "running", True),
        (1, "unknown", False),
    ]
    assert found["unreachable"] == [{"node": "spark-b", "message": "cannot be reached"}]


def test_status_tells_that_the_folder_has_changed_since(cluster):
    assert cluster.run("compile", "tiny", "--max-model-len", "100").code == 0

    done = cluster.run("status", "tiny")

    assert "the bundle's folder has other files than what is deployed: sparkc plan tiny" in done.out


def test_logs_of_all_ranks(cluster):
    done = cluster.run("logs", "tiny")

    assert (done.code, done.err) == (0, "")
    assert sorted(done.out.splitlines()) == ["[0 spark-a] hello", "[1 spark-b] hello"]


def test_logs_of_one_rank_without_the_folder(cluster):
    cluster.forget()

    assert cluster.run("logs", "tiny", "--rank", "1").out == "[1 spark-b] hello\n"


def test_logs_of_a_node_out_of_reach_are_missed_aloud(cluster):
    cluster.nodes.switch_off("spark-b")

    done = cluster.run("logs", "tiny")

    assert (done.code, done.out) == (0, "[0 spark-a] hello\n")
    assert done.err == "[1 spark-b] -- cannot be reached\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("logs", "tiny", "--rank", "2"), "tiny has ranks 0 to 1"),
        (("logs", "tiny", "--tail", "-5"), "neither a number of lines nor `all`"),
        (("logs", "tiny", "--since", "--help"), "write 10m, 2h, or 2026-11-30T12:00:00Z"),
        (("exec", "tiny", "--rank", "2", "--", "id"), "tiny has ranks 0 to 1"),
        (("exec", "tiny"), "there is no command: sparkc exec tiny --rank 0 -- bash"),
        (("status", "--watch", "--json"), "choose one"),
    ],
)
def test_wrong_usage(cluster, arguments, message):
    done = cluster.run(*arguments)

    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("command", ["status", "down", "logs"])
def test_a_bundle_that_nobody_knows(cluster, command):
    done = cluster.run(command, "tinny")

    assert done.code == 1
    assert "there is no bundle 'tinny'" in done.err
    assert "did you mean 'tiny'?" in done.err


def test_exec_passes_words_input_and_exit_code_on(cluster):
    script = 'cat; printf "|%s" "$@"; exit 7'
    hostile = ["a  b", "$HOME", "it's", "", "-x", "`id`", "\\", "a\nb", "*", "é"]
    argv = ["exec", "tiny", "--rank", "1", "--", "sh", "-c", script, "sh", *hostile]

    done = subprocess.run([sys.executable, "-m", "sparkc", *argv], input=b"\xffhello", capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (7, b"")
    assert done.stdout == b"\xffhello" + "".join(f"|{word}" for word in hostile).encode()


def test_exec_in_a_container_that_does_not_run(cluster):
    cluster.set("running", "exited")

    done = cluster.run("exec", "tiny", "--rank", "1", "--", "id")

    assert done.code == 1
    assert done.err == "spark-b: the container of rank 1 of tiny is exited\n  help: sparkc status tiny\n"


@pytest.mark.parametrize("shell", ["bash", "dash", "busybox sh"])
def test_any_login_shell_hands_the_command_line_on(tmp_path, shell):
    words = shell.split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]} here")
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nprintf \'%s|\' "$DOCKER_HOST" "$@"\n')
    docker.chmod(0o755)
    line = command_line(str(docker), "abc", ["echo", "it's $HOME !"], terminal=True)

    done = subprocess.run(
        [*words, "-c", line],
        env={"PATH": "/usr/bin:/bin", "DOCKER_HOST": "tcp://elsewhere"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "|exec|-it|abc|echo|it's $HOME !|"


@pytest.mark.parametrize("known", ["folder", "node", "containers"])
def test_down_stops_the_bundle_and_nothing_else(cluster, known):
    if known != "folder":
        cluster.forget()
    if known == "containers":
        for host in HOSTS:
            shutil.rmtree(cluster.nodes.base(host, "tiny"))

    done = cluster.run("down", "tiny")

    assert done.code == 0
    assert done.out == "spark-a: tiny stopped and removed\nspark-b: tiny stopped and removed\ntiny is down\n"
    assert [names(cluster.home(host)) for host in HOSTS] == [["bystander"], ["bystander"]]
    assert not (cluster.nodes.base("spark-a", "tiny") / "lock").exists()


def test_down_again_has_nothing_to_do(cluster):
    cluster.run("down", "tiny")

    done = cluster.run("down", "tiny")

    assert (done.code, done.out) == (0, "tiny did not run\n")


@pytest.mark.parametrize("away", HOSTS)
def test_down_names_the_node_that_it_cannot_be_sure_of(cluster, away):
    cluster.nodes.switch_off(away)
    other = next(host for host in HOSTS if host != away)

    done = cluster.run("down", "tiny")

    assert done.code == 1
    assert done.out == f"{other}: tiny stopped and removed\n"
    assert f"tiny may still run on {away}" in done.err
    assert "No route to host" in done.err
    assert names(cluster.home(other)) == ["bystander"]


def test_down_tells_programs(cluster):
    cluster.nodes.switch_off("spark-b")

    done = cluster.run("down", "tiny", "--json")

    assert done.code == 1
    told = json.loads(done.out)
    assert (told["bundle"], told["removed"]) == ("tiny", {"spark-a": ["tiny"]})
    assert [unknown["node"] for unknown in told["unconfirmed"]] == ["spark-b"]
    assert json.loads(cluster.run("down", "tiny", "--json").out)["removed"] == {}


def test_down_finds_a_container_outside_of_the_group(cluster):
    assert cluster.run("compile", "tiny", "--nodes", "1", "--tp", "1").code == 0
    single = (cluster.folder / "bundle.json").read_text()
    for host in HOSTS:
        release = cluster.nodes.base(host, "tiny") / "releases" / cluster.manifest["group_digest"]
        (release / "tiny/bundle.json").write_text(single)
    put_containers(cluster.home("spark-a"))

    done = cluster.run("down", "tiny", "--inventory", "inventory.yaml")

    assert (done.code, done.out) == (0, "spark-b: tiny stopped and removed\ntiny is down\n")


def test_down_leaves_a_bundle_alone_that_somebody_else_is_changing(cluster):
    folder = cluster.nodes.base("spark-a", "tiny") / "lock"
    folder.mkdir(parents=True)
    (folder / "holder").write_text("who=ann@desk\npid=7\ndoing=deploy abc\nsince=1\ndeadline=99999999999\n")
    with (folder / "holder").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its keeper does while it lives

        done = cluster.run("down", "tiny")

    assert done.code == 1
    assert "ann@desk" in done.err
    assert "sparkc lock release tiny" in done.err
    assert names(cluster.home("spark-b")) == ["tiny", "bystander"]
