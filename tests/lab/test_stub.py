"""The stub engine, as bundles of sparkc run it: across nodes, to a completion, and in all its ways to fail."""

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from lab.cluster import each
from lab.project import put_release
from lab.system import wait_until

pytestmark = pytest.mark.lab

SPARKC = str(Path(sys.executable).with_name("sparkc"))


class Group:
    """A bundle on the first nodes of a lab, started by hand as its README says."""

    def __init__(self, lab, folder, nodes=2, recipe=""):
        self.lab = lab
        self.nodes = lab.nodes[:nodes]
        project = lab.project(folder, nodes)
        with (project / "recipes/demo.yaml").open("a") as file:
            file.write(recipe)
        done = lab.run([SPARKC, "compile", "demo"], cwd=project)
        assert done.returncode == 0, done.stderr
        self.bundle = project / "out/demo"

    def start(self):
        each(self._start, self.nodes)
        return self

    def _start(self, node):
        folder = put_release(node, self.bundle)
        done = self.lab.machine.ssh(node.name, f"cd {folder} && docker compose up --detach")
        assert done.returncode == 0, done.stderr

    def get(self, path, body=None, headers=None):
        """Return the status and text of a request to rank 0, by someone on the management network; 0 is no answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.nodes[0].address()}:8000{path}", data, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def complete(self, model="lab/tiny"):
        return self.get("/v1/completions", {"model": model, "prompt": "x", "max_tokens": 1})

    def wait_healthy(self):
        wait_until(lambda: self.get("/health")[0] == 200, "the group to be healthy", 20)
        return self

    def state(self, rank):
        return self.nodes[rank].docker.inspect("demo")["State"]

    def wait_ended(self, rank):
        wait_until(lambda: not self.state(rank)["Running"], f"rank {rank} to end", 20)
        return self.state(rank)["ExitCode"]

    def log(self, rank):
        done = self.nodes[rank].run(["docker", "logs", "demo"])
        return done.stdout + done.stderr


def test_two_nodes_to_a_completion(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path).start().wait_healthy()
    assert json.loads(group.get("/v1/models")[1])["data"][0]["id"] == "lab/tiny"
    status, text = group.complete()
    assert (status, json.loads(text)["choices"][0]["text"]) == (200, " a fixed text from lab/tiny")
    assert group.complete("another")[0] == 404
    assert group.get("/metrics")[1] == "vllm:request_success_total 1\n"
    assert "rank 1 has joined from 192.168.177.12" in group.log(0)


def test_four_nodes_and_the_health_check_of_the_bundle(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path, 4).start().wait_healthy()
    assert group.complete()[0] == 200
    wait_until(lambda: group.state(0)["Health"]["Status"] == "healthy", "the health check to pass", 15)


def test_the_record_has_argv_and_environment(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path, 1, "args: [--chat-template, '{{ a $b \\ }}']\nenv: {SPECIAL: \"a $b 'c'\"}\n")
    group.start().wait_healthy()
    told = fresh_lab.machine.ssh("spark-1", "docker exec demo cat /run/stub/invocation.json").stdout
    record = json.loads(told)
    assert record["argv"][:2] == ["serve", "lab/tiny"]
    assert record["argv"][record["argv"].index("--chat-template") + 1] == "{{ a $b \\ }}"
    assert record["environ"]["SPECIAL"] == "a $b 'c'"
    assert record["cwd"] == "/workspace"


def test_the_head_waits_for_a_missing_worker(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path)
    group._start(group.nodes[0])
    time.sleep(1.5)
    assert group.get("/health")[0] == 0
    group._start(group.nodes[1])
    group.wait_healthy()


def test_a_lost_worker_is_noticed_by_the_next_completion_alone(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path).start().wait_healthy()
    group.nodes[1].docker.kill_container("demo")
    group.wait_ended(1)
    time.sleep(1)
    assert group.get("/health")[0] == 200
    assert group.complete()[0] == 500
    assert group.get("/health")[0] == 503
    assert group.wait_ended(0) == 1


def test_a_worker_behind_a_cut_rail_is_noticed_too(fresh_lab, tmp_path):
    fresh_lab.nodes[0].stub_settings(STUB_STEP_TIMEOUT="1")
    group = Group(fresh_lab, tmp_path).start().wait_healthy()
    group.nodes[1].cut("rail-a")
    assert group.get("/health")[0] == 200
    assert group.complete()[0] == 500


def test_workers_end_with_the_head(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path).start().wait_healthy()
    group.nodes[0].docker.kill_container("demo")
    assert group.wait_ended(1) == 1
    assert "the head went away" in group.log(1)


def test_workers_may_outlive_the_head(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path, recipe='env: {STUB_OUTLIVE: "60"}\n').start().wait_healthy()
    group.nodes[0].docker.kill_container("demo")
    time.sleep(1)
    assert group.state(1)["Running"]


def test_sigterm_ends_it_at_once_or_not_at_all(fresh_lab, tmp_path):
    fresh_lab.nodes[1].stub_settings(STUB_IGNORE_SIGTERM="1")
    group = Group(fresh_lab, tmp_path).start().wait_healthy()
    for rank in (1, 0):
        group.nodes[rank].docker.kill_container("demo", 15)
    assert group.wait_ended(0) == 0
    # It ignored the signal, and ends because the head went.
    assert group.wait_ended(1) == 1
    assert "terminated" not in group.log(1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"STUB_CRASH_AT_START": "1", "STUB_CRASH_AT_START_RANK": "1"}, "STUB_CRASH_AT_START is set"),
        ({"STUB_CRASH_AFTER": "0.5", "STUB_CRASH_AFTER_RANK": "1"}, "STUB_CRASH_AFTER is over"),
    ],
)
def test_a_rank_that_crashes(fresh_lab, tmp_path, settings, words):
    group = Group(fresh_lab, tmp_path, recipe=f"env: {json.dumps(settings)}\n").start()
    assert group.wait_ended(1) == 1
    assert words in group.log(1)
    assert words not in group.log(0)


def test_an_address_that_the_node_does_not_have(fresh_lab, tmp_path):
    fresh_lab.nodes[1].set_address("rail-a", "192.168.177.99")
    group = Group(fresh_lab, tmp_path, recipe='env: {STUB_BIND_CHECK: "1"}\n').start()
    assert group.wait_ended(1) == 1
    assert "Cannot assign requested address (addr='tcp://192.168.177.12:0')" in group.log(1)
    assert group.state(0)["Running"]


def test_an_engine_that_hangs(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path, 1, 'env: {STUB_HANG: "1"}\n').start()
    time.sleep(1.5)
    assert group.state(0)["Running"]
    assert group.get("/health")[0] == 0


def test_ready_later_and_slow_answers(fresh_lab, tmp_path):
    start = time.monotonic()
    group = Group(fresh_lab, tmp_path, 1, 'env: {STUB_READY_AFTER: "1.5", STUB_SLOW: "0.8"}\n').start().wait_healthy()
    assert time.monotonic() - start > 1.5
    start = time.monotonic()
    assert group.complete()[0] == 200
    assert time.monotonic() - start > 0.8


def test_an_unknown_flag_is_refused_as_argparse_does(fresh_lab):
    told = fresh_lab.machine.ssh(
        "spark-1", "docker run --rm sparkc-lab/stub:1 vllm serve lab/tiny --anything 1 --no-such-flag"
    )
    assert told.returncode == 2
    assert told.stderr.endswith("error: unrecognized arguments: --no-such-flag\n")


def test_an_api_key_protects_the_api_and_not_the_health(fresh_lab, tmp_path):
    group = Group(fresh_lab, tmp_path, 1, "args: [--api-key, not-a-secret]\n").start().wait_healthy()
    assert group.complete()[0] == 401
    assert group.get("/v1/models", headers={"Authorization": "Bearer not-a-secret"})[0] == 200
