"""What status says about a bundle, in its first line and below the table."""

from dataclasses import replace

import pytest

from sparkc.cli.status_output import Shown, as_data, lines
from sparkc.errors import SparkcError
from sparkc.runner.facts import Holder
from sparkc.runner.status import BundleStatus, Row
from support.node_facts import NOW, manifest

HEAD = Row(0, "spark-1", "running", "d" * 64, 7200.0, "healthy", None, 0, 50 << 30, 119 << 30, "img")
WORKER = Row(1, "spark-2", "running", "d" * 64, 30.0, None, None, 0, 512 << 20, 119 << 30, "img")
DEAD = SparkcError("rank 0 (head) answers /v1/completions with 500", host="spark-1", output="EngineCore\x1b[2J")


def shown(*rows, deep=None, lock=None, compiled=None):
    return Shown(BundleStatus("demo", manifest(), rows, lock), compiled, deep or {})


def test_a_bundle_that_serves_in_full():
    assert list(lines(shown(HEAD, WORKER))) == [
        "demo serves at http://spark-1.lan:8000",
        "RANK  NODE     STATE    AGE   HEALTH   RESTARTS  MEMORY FREE            RELEASE       IMAGE",
        "0     spark-1  running  2 h   healthy  0         50.0 GiB of 119.0 GiB  dddddddddddd  img",
        "1     spark-2  running  30 s  -        0         512 MiB of 119.0 GiB   dddddddddddd  img",
    ]


@pytest.mark.parametrize(
    ("worker", "summary"),
    [
        ({"state": "unknown", "problem": "cannot be reached"}, "cannot be judged: not all of its nodes can be seen"),
        ({"health": "starting"}, "is loading"),
        ({"health": "unhealthy"}, "does not serve"),
        ({"state": "exited", "exit_code": 1}, "does not serve"),
        ({"state": "none"}, "does not serve"),
        ({"problem": "runs other files than its current release"}, "is not as it should be"),
    ],
)
def test_the_summary(worker, summary):
    assert next(lines(shown(HEAD, replace(WORKER, **worker)))) == f"demo {summary}"


def test_a_failed_completion_outweighs_the_health_checks():
    made = shown(HEAD, WORKER, deep={0: DEAD})

    found = list(lines(made))

    assert not made.well
    assert found[0] == "demo does not serve, though its health checks pass"
    assert found[4:] == [
        "spark-1: rank 0 (head) answers /v1/completions with 500",
        "  output:",
        "    EngineCore\\x1b[2J",
    ]


def test_completions_that_came_and_that_cannot_be_checked():
    made = shown(HEAD, WORKER, deep={0: None, 1: "its completions cannot be checked: it asks for an API key"})

    assert made.well
    assert list(lines(made))[4:] == [
        "rank 0: completes",
        "rank 1: its completions cannot be checked: it asks for an API key",
    ]


def test_who_holds_the_lock_and_what_the_folder_has():
    lock = (Holder("ann@desk", 7, "deploy", NOW - 180, NOW + 900, True), NOW)
    made = shown(HEAD, WORKER, lock=lock, compiled=replace(manifest(), group_digest="e" * 64))

    assert list(lines(made))[4:] == [
        "locked by ann@desk (process 7), deploy, since 3 min ago",
        "the bundle's folder has other files than what is deployed: sparkc plan demo",
    ]


def test_for_programs():
    found = as_data([shown(HEAD, WORKER, deep={0: DEAD}, compiled=manifest())], {})

    assert found["unreachable"] == []
    (bundle,) = found["bundles"]
    assert (bundle["serves"], bundle["as_compiled"], bundle["locked_by"]) == (False, True, None)
    assert bundle["completions"] == {"0": {"result": "failed", "message": DEAD.message}}
    assert bundle["ranks"][1]["memory_available"] == 512 << 20
