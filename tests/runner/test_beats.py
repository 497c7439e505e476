"""One moment of a rank, as the watch on its node tells it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.runner.beats import Beat, failed_at, failure, parse_beat, serves, state_words

LINE = (
    "running\tstarting\t0\t0\tfalse\t2026-11-30T10:00:00.5Z\t0001-01-01T00:00:00Z\t1796032810.25"
    "\t131072000\t65536000\t1048576\tLoading safetensors: 35%"
)
BEAT = Beat("running", None, 0, 0, False, 1000.0, None, 1010.0, 1 << 37, 1 << 36, 1 << 30, "")


def test_a_line_becomes_a_moment():
    beat = parse_beat(LINE)

    assert beat == Beat(
        state="running",
        health="starting",
        exit_code=0,
        restarts=0,
        out_of_memory=False,
        started=1796032800.5,
        finished=None,
        clock=1796032810.25,
        memory_total=131072000 * 1024,
        memory_available=65536000 * 1024,
        page_cache=1048576 * 1024,
        log="Loading safetensors: 35%",
    )


def test_a_log_line_may_hold_anything():
    beat = parse_beat(LINE + "\r\x1b[32mLoading: 70%\x1b[0m\x07 a\tb")

    assert beat is not None
    assert beat.log == "Loading: 70%\\x07 a\\x09b"


def test_without_a_health_check_there_is_no_health():
    beat = parse_beat(LINE.replace("starting", "none"))

    assert beat is not None
    assert beat.health is None


@given(st.text() | st.lists(st.text(), min_size=10, max_size=14).map("\t".join))
def test_other_lines_are_no_moment_and_no_fault(line):
    beat = parse_beat(line)

    assert beat is None or isinstance(beat.clock, float)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "exited", "exit_code": 2, "finished": 1004.0}, "exited with code 2 after 4 s"),
        ({"state": "exited", "exit_code": 0, "finished": 1004.0}, "exited with code 0 after 4 s"),
        (
            {"state": "exited", "exit_code": 137, "finished": 1004.0},
            "exited with code 137 after 4 s (killed; by the kernel or a watchdog when memory is short)",
        ),
        (
            {"state": "exited", "exit_code": 137, "finished": 1004.0, "out_of_memory": True},
            "was killed after 4 s since its memory limit was reached (exit code 137)",
        ),
        ({"state": "gone", "started": None}, "has no container any more: somebody removed it"),
        ({"restarts": 1}, "is being restarted by Docker (exit code 0): a rank on its own cannot join again"),
        ({"health": "unhealthy"}, "is unhealthy: it runs, but its health check fails"),
        ({"health": "starting"}, None),
        ({"state": "created"}, None),
        ({"state": "silent"}, None),
        ({}, None),
    ],
)
def test_what_a_rank_does_not_come_back_from(changes, why):
    assert failure(replace(BEAT, **changes)) == why


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"health": "healthy", "started": 1009.9}, True),
        ({"health": "starting"}, False),
        ({"started": 1006.0}, False),
        ({"started": 1005.0}, True),
        ({"state": "paused"}, False),
        ({"state": "exited", "health": "healthy"}, False),
    ],
)
def test_a_rank_serves_when_healthy_or_without_a_check_once_it_has_settled(changes, expected):
    assert serves(replace(BEAT, **changes), settle=5.0) is expected


def test_a_removed_container_failed_when_it_was_last_seen():
    gone = replace(BEAT, state="gone", clock=1012.0)

    assert failed_at(gone, BEAT) == 1010.0
    assert failed_at(gone, None) == 0.0
    assert failed_at(replace(BEAT, state="exited", finished=1003.5), BEAT) == 1003.5


def test_states_in_words():
    assert state_words(replace(BEAT, health="starting")) == "loading"
    assert state_words(replace(BEAT, health="healthy")) == "healthy"
    assert state_words(BEAT) == "running"
    assert state_words(replace(BEAT, state="silent")) == "unknown: Docker does not answer"
