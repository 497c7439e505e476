"""Did-you-mean."""

from __future__ import annotations

import pytest

from sparkc.diagnostics.suggest import closest, did_you_mean


@pytest.mark.parametrize(
    ("word", "best"),
    [("contaner", "container"), ("CONTAINER", "container"), ("portt", "port"), ("zzz", None), ("", None)],
)
def test_the_nearest_candidate_or_none(word: str, best: str | None) -> None:
    assert closest(word, ["container", "port", "name"]) == best


def test_a_hint_quotes_the_candidate_as_it_is_spelled() -> None:
    assert did_you_mean("nccl_debug", iter(["NCCL_DEBUG"])) == "did you mean 'NCCL_DEBUG'?"
    assert did_you_mean("x", []) is None
