"""Where a bundle is, and how its ranks are, from what nodes tell of themselves and of each other."""

from dataclasses import replace

import pytest

from sparkc.bundle.manifest import to_bytes
from sparkc.errors import SparkcError
from sparkc.runner.facts import Holder
from sparkc.runner.processes import Processes
from sparkc.runner.ssh import Ssh
from sparkc.runner.status import Row, bundle_status, running_bundles
from sparkc.runner.survey import start_of, survey
from sparkc.runner.target import Target, rank_target
from support.node_facts import GIB, NOW, container, manifest, node, rank, releases, serving

AWAY = SparkcError("cannot be reached", host="spark-2")
MEMORY = {"memory_available": 112 * GIB, "memory_total": 119 * GIB}


@pytest.fixture
def look(monkeypatch):
    """``look(nodes)`` lets looks give ``nodes``, by host, and returns the hosts that were looked at, round by round."""

    def tell(nodes):
        rounds = []

        def look_at_all(ssh, queries):
            rounds.append([target.host for target in queries])
            return {target: nodes[target.host] for target in queries}

        monkeypatch.setattr("sparkc.runner.survey.look_at_all", look_at_all)
        return rounds

    return tell


def seen(start, bundle="demo"):
    with Ssh(Processes()) as ssh:
        return survey(ssh, start, bundle)


def hosts(facts):
    return {f"spark-{number + 1}.lan": found for number, found in facts.items()}


def test_a_group_is_found_from_one_of_its_nodes(look):
    rounds = look(hosts(serving()))

    found = seen({rank_target(rank(0)): "/home/spark"})

    assert rounds == [["spark-1.lan"], ["spark-2.lan"]]
    assert [m.group_digest for m in found.deployed["demo"]] == ["d" * 64]


def test_a_group_that_serves(look):
    look(hosts(serving()))

    status = bundle_status(seen(start_of(manifest())), "demo", manifest())

    assert status.serves
    assert status.rows == (
        Row(0, "spark-1", "running", "d" * 64, 7200.0, "healthy", None, 0, image="registry.example/vllm", **MEMORY),
        Row(1, "spark-2", "running", "d" * 64, 7200.0, None, None, 0, image="registry.example/vllm", **MEMORY),
    )


def test_what_cannot_be_seen_is_unknown_not_down(look):
    facts = serving()
    look(hosts({0: facts[0], 1: AWAY}))

    status = bundle_status(seen(start_of(manifest())), "demo", manifest())

    assert not status.serves
    assert status.rows[1] == Row(1, "spark-2", "unknown", problem="cannot be reached")


def test_docker_without_an_answer_is_unknown(look):
    facts = serving()
    silent = replace(facts[1], containers=(), docker_error="no answer within 20 s")
    look(hosts({0: facts[0], 1: silent}))

    status = bundle_status(seen(start_of(manifest())), "demo", manifest())

    assert (status.rows[1].state, status.rows[1].problem) == (
        "unknown",
        "Docker does not answer: no answer within 20 s",
    )


def test_nothing_runs(look):
    look(hosts({0: node(0), 1: node(1)}))

    status = bundle_status(seen(start_of(manifest())), "demo", manifest())

    assert not status.exists
    assert [row.state for row in status.rows] == ["none", "none"]


def test_a_rank_that_exited_says_since_when_and_how(look):
    facts = serving()
    ended = container(1, state="exited", exit_code=137, finished=NOW - 60, out_of_memory=True)
    look(hosts({0: facts[0], 1: replace(facts[1], containers=(ended,))}))

    row = bundle_status(seen(start_of(manifest())), "demo").rows[1]

    assert (row.state, row.exit_code, row.age, row.problem) == ("exited", 137, 60.0, "reached its memory limit")


def test_other_files_than_the_current_release_s_are_told(look):
    facts = serving()
    other = container(1, labels={"sparkc.bundle": "demo", "sparkc.rank": "1", "sparkc.rank-digest": "9" * 64})
    look(hosts({0: facts[0], 1: replace(facts[1], containers=(other,))}))

    row = bundle_status(seen(start_of(manifest())), "demo").rows[1]

    assert (row.release, row.problem) == (None, "runs other files than its current release")
    assert not row.serves


def test_without_a_release_the_containers_alone_are_shown(look):
    third = Target("spark-3", "spark-3.lan", "spark")
    facts = {number: node(number, containers=(container(number),)) for number in (0, 1)}
    look({**hosts(facts), "spark-3.lan": node(2)})

    status = bundle_status(seen({**start_of(manifest()), third: "/home/spark"}), "demo")

    assert status.manifest is None
    assert [(row.rank, row.node, row.state) for row in status.rows] == [
        (0, "spark-1", "running"),
        (1, "spark-2", "running"),
    ]
    assert status.serves


def test_a_container_that_no_rank_of_the_group_accounts_for_is_left_over(look):
    third = Target("spark-3", "spark-3.lan", "spark")
    stray = node(2, containers=(container(2),))
    look({**hosts(serving()), "spark-3.lan": stray})

    row = bundle_status(seen({**start_of(manifest()), third: "/home/spark"}), "demo").rows[2]

    assert (row.rank, row.node, row.problem) == (2, "spark-3", "is left over: the deployed group has no rank here")


def test_all_bundles_that_run_are_found_with_their_groups(look):
    made = manifest()
    facts = {number: replace(found, neighbours={"demo": to_bytes(made)}) for number, found in serving().items()}
    rounds = look(hosts(facts))

    found = seen({rank_target(rank(0)): "/home/spark"}, bundle=None)

    assert rounds == [["spark-1.lan"], ["spark-2.lan"]]
    assert running_bundles(found) == ["demo"]
    assert bundle_status(found, "demo").serves


def test_a_manifest_that_is_damaged_or_another_s_is_no_group(look):
    foreign = replace(manifest(), name="other")
    damaged = replace(releases(manifest()), manifest=b"{")
    look(
        hosts(
            {
                0: node(0, releases=replace(releases(manifest()), manifest=to_bytes(foreign))),
                1: node(1, releases=damaged),
            }
        )
    )

    assert seen(start_of(manifest())).deployed == {}


def test_only_a_living_lock_is_shown(look):
    held = Holder("ann@desk", 7, "deploy", NOW - 90, NOW + 900, True)
    for alive in (True, False):
        facts = serving()
        lock = replace(held, alive=alive)
        look(hosts({**facts, 0: replace(facts[0], releases=releases(manifest(), lock=lock))}))

        status = bundle_status(seen(start_of(manifest())), "demo")

        assert status.lock == ((lock, NOW) if alive else None)
