"""vLLM itself, started by sparkc on two and four nodes: what it says, and what becomes of it when it fails.

The tests share one group and its nodes, since each start takes most of a minute; each deploys what it needs first.
"""

import json
import time

import pytest

from .serving import PROMPT

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def said(project):
    """What the model says on two nodes, served from the bundle that the tests come back to."""
    project.compile(nodes=2)
    project.deploy()
    status, text = project.complete()
    assert status == 200, text
    return text


def test_two_nodes_serve_completions_through_rank_0(project, said):
    assert len(set(said)) > 5, "the model repeats itself: an equal text would prove little"
    assert project.complete(f"{PROMPT} jumps")[1] != said
    assert json.loads(project.ask("/v1/models")[1])["data"][0]["id"] == "tiny"
    assert project.complete() == (200, said)
    project.sparkc("status", "tiny", "--deep")


def test_the_same_is_said_after_deploy_rollback_and_redeploy(project, said):
    project.compile(nodes=2, sequences=3)
    first = project.container(0)["Id"]
    project.deploy()
    assert project.container(0)["Id"] != first
    assert project.complete() == (200, said)

    project.sparkc("rollback", "tiny", "--yes")
    assert project.complete() == (200, said)

    project.deploy()
    assert project.complete() == (200, said)
    project.sparkc("status", "tiny", "--deep")


def test_four_nodes_say_the_same(project, said):
    project.compile(nodes=4)
    project.deploy()
    assert [project.container(rank)["State"]["Running"] for rank in range(4)] == [True] * 4
    assert project.complete() == (200, said)
    project.sparkc("status", "tiny", "--deep")


def test_a_lost_worker_is_hidden_from_health_and_not_from_status(project, said):
    project.compile(nodes=2)
    project.deploy()
    project.lab.nodes[1].docker.kill_container("tiny")
    project.wait_ended(1)
    time.sleep(2)
    assert project.ask("/health")[0] == 200
    told = project.sparkc("status", "tiny", "--deep", expect=1)
    assert "137" in told.stdout
    assert project.complete()[0] == 500
    project.wait_ended(0)

    project.deploy()
    assert project.complete() == (200, said)


def test_a_deploy_whose_completions_fail_brings_the_old_release_back(project, said):
    project.compile(nodes=2)
    project.deploy()
    project.compile(nodes=2, env={})
    told = project.deploy(expect=1)
    assert "500" in told.stderr
    assert project.complete() == (200, said)
    project.sparkc("status", "tiny", "--deep")


def test_status_deep_sees_what_health_checks_do_not(project, said):
    project.compile(nodes=2, env={})
    project.deploy("--no-wait")
    project.wait_healthy()
    project.sparkc("status", "tiny")
    assert "500" in project.sparkc("status", "tiny", "--deep", expect=1).stdout
