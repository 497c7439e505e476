"""Four ranks, of which one fails."""

from __future__ import annotations

import re

import pytest

from lab.deployment import Deployment

pytestmark = pytest.mark.lab


def test_the_rank_that_failed_first_is_named_first(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path, 4)
    demo.renew({"STUB_CRASH_AT_START": "1", "STUB_CRASH_AT_START_RANK": "2"})

    done = demo.deploy()

    assert done.returncode == 1
    report = done.stderr.partition("\ndemo: ")[2]
    assert re.match(
        r"spark-3: rank 2 \(worker\) exited with code 1 after \d+ s; "
        rf"what ran before serves again \(demo {demo.old['group_digest'][:12]}\)\n",
        report,
    )
    for number in range(4):
        _, found, words = report.partition(f"last lines of rank {number}:\n")
        assert found
        assert f"stub vLLM, model lab/tiny, rank {number} of 4" in words.partition("last lines")[0]
    assert "RuntimeError: STUB_CRASH_AT_START is set" in report
    demo.check_serving(demo.old)
    assert demo.sparkc("status", "demo", "--deep").returncode == 0
