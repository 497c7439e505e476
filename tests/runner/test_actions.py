"""What a deploy would do: nothing, or the whole group anew, and never half of it."""

from dataclasses import replace

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.actions import age, decide, deployed, describe, leftovers, unchanged
from support.node_facts import NOW, container, manifest, node, rank, release, releases, serving


def kinds(actions):
    return [action.kind for action in actions]


def test_a_group_that_serves_its_release_is_left_alone():
    actions = decide(manifest(), serving())
    assert unchanged(actions)
    assert [(a.rank, a.node, a.kind, a.why) for a in actions] == [
        (0, "spark-1", "none", ""),
        (1, "spark-2", "none", ""),
    ]
    assert actions[0].now == "111111111111 running for 2 h, healthy"
    assert actions[0].then == "111111111111"


def test_nothing_there_starts_all():
    actions = decide(manifest(), {0: node(0), 1: node(1)})
    assert kinds(actions) == ["start", "start"]
    assert not unchanged(actions)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"containers": (container(1, state="exited", exit_code=1),)}, "its container is exited"),
        ({"containers": (container(1, health="unhealthy"),)}, "its container is unhealthy"),
        ({"containers": (container(1, restarts=2),)}, "its container restarted"),
        ({"containers": (replace(container(0), health=None),)}, "it runs other files"),
        (
            {"containers": (replace(container(1), labels=container(1).labels | {"sparkc.rank": "0"}),)},
            "it runs as rank 0",
        ),
        ({"releases": releases()}, "its release is not there any more"),
        (
            {"releases": releases(manifest(), (release(changed=("rank-1-spark-2/rank.env",)),))},
            "files of the release were changed: rank-1-spark-2/rank.env",
        ),
    ],
)
def test_one_rank_that_is_wrong_restarts_the_whole_group(changes, why):
    facts = serving()
    facts[1] = replace(facts[1], **changes)
    actions = decide(manifest(), facts)
    assert kinds(actions) == ["replace", "replace"]
    assert actions[1].why == why
    assert actions[0].why == "spark-2 is not as it should be, and a group starts as a whole"


def test_a_rank_that_is_gone_restarts_the_others():
    facts = serving()
    facts[1] = replace(facts[1], containers=())
    assert kinds(decide(manifest(), facts)) == ["replace", "start"]


def test_loading_is_waited_for_and_not_begun_anew():
    facts = serving()
    facts[0] = replace(facts[0], containers=(container(0, health="starting"),))
    actions = decide(manifest(), facts)
    assert kinds(actions) == ["wait", "none"]
    assert not unchanged(actions)


def test_a_deploy_that_was_cut_off_before_the_flip_is_finished_without_a_restart():
    facts = serving()
    facts[1] = replace(facts[1], releases=replace(facts[1].releases, current=None, manifest=None))
    actions = decide(manifest(), facts)
    assert [(action.kind, action.why) for action in actions] == [("none", ""), ("wait", "its deploy was not finished")]


def test_an_unreachable_node_is_unknown_and_not_down():
    facts = serving() | {1: SparkcError("cannot be reached", host="spark-2")}
    actions = decide(manifest(), facts)
    assert kinds(actions) == ["none", "unknown"]
    assert (actions[1].now, actions[1].why) == ("unknown", "cannot be reached")
    assert not unchanged(actions)


def test_a_node_whose_docker_does_not_answer_is_unknown_and_not_empty():
    facts = serving()
    facts[1] = replace(facts[1], containers=(), docker=None, docker_error="no answer within 20 s")
    actions = decide(manifest(), facts)
    assert kinds(actions) == ["none", "unknown"]
    assert (actions[1].now, actions[1].why) == ("unknown", "Docker gave nothing: no answer within 20 s")


@pytest.mark.parametrize(
    ("known", "there", "expected"),
    [
        (None, "x" * 64, "none"),
        ("x" * 64, "x" * 64, "none"),
        ("y" * 64, "x" * 64, "replace"),
        ("y" * 64, None, "replace"),
    ],
)
def test_other_secrets_restart_the_group(known, there, expected):
    facts = {
        number: replace(found, releases=releases(manifest(), (release(secrets_sha256=there),)))
        for number, found in serving().items()
    }
    assert kinds(decide(manifest(), facts, known)) == [expected, expected]


def test_a_node_that_leaves_the_group_is_stopped_and_the_rest_restarted():
    old = manifest(ranks=(rank(0), rank(1), rank(2)), waves=((1, 2), (0,)), group_digest="c" * 64)
    facts = {n: replace(f, releases=replace(f.releases, manifest=releases(old).manifest)) for n, f in serving().items()}
    actions = decide(manifest(), facts)
    assert [entry.node for entry in leftovers(manifest(), facts)] == ["spark-3"]
    assert [(a.node, a.kind) for a in actions] == [("spark-1", "replace"), ("spark-2", "replace"), ("spark-3", "stop")]
    assert actions[0].why == "spark-3 leaves the group, and a group starts as a whole"


def test_every_current_release_is_told_once_and_a_damaged_one_is_passed_over():
    other = manifest(group_digest="e" * 64)
    facts = serving()
    assert [found.group_digest for found in deployed(facts)] == ["d" * 64]
    facts[1] = replace(facts[1], releases=releases(other))
    assert [found.group_digest for found in deployed(facts)] == ["d" * 64, "e" * 64]
    facts[1] = replace(facts[1], releases=replace(releases(other), manifest=b"{broken"))
    assert [found.group_digest for found in deployed(facts)] == ["d" * 64]


def test_what_runs_is_described():
    assert describe(None, NOW) == "nothing"
    assert describe(container(1, started=NOW - 90), NOW) == "222222222222 running for 90 s"
    dead = container(1, state="exited", exit_code=137, out_of_memory=True)
    assert describe(dead, NOW) == "222222222222 exited with code 137, out of memory"
    assert describe(container(1, state="created", labels={"sparkc.bundle": "demo"}), NOW) == "no digest created"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (180000, "2 d")],
)
def test_ages_have_one_unit(seconds, said):
    assert age(seconds) == said
