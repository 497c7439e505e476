"""What is not pinned, and what to type about it."""

from __future__ import annotations

import pytest

from sparkc.diagnostics import Report
from sparkc.planning.pins import check_image, check_models
from sparkc.reading.source import Source, Span
from sparkc.record import replace
from sparkc.traced import Origin, Traced, from_file, from_flag
from support.compile_text import compile_text, native


def at(name: str) -> Origin:
    return from_file(Span(Source(name), 3, 8, 3, 12), "image")


def image_hint(reference: str, origin: Origin) -> str | None:
    report = Report()
    check_image(Traced(reference, origin), report)
    (warning,) = report.diagnostics
    assert (warning.code, warning.severity.value) == ("SPK361", "warning")
    return warning.hint


@pytest.mark.parametrize(
    ("reference", "pinned"),
    [
        ("vllm/vllm-openai:v0.20.0", "vllm/vllm-openai@sha256:…"),
        ("vllm-node", "vllm-node@sha256:…"),
        ("localhost:5000/team/vllm", "localhost:5000/team/vllm@sha256:…"),
        ("localhost:5000/team/vllm:nightly", "localhost:5000/team/vllm@sha256:…"),
    ],
)
@pytest.mark.parametrize(
    ("origin", "remedy"),
    [
        (at("recipes/mine.yaml"), "write {0} there, or compile with --image {0}"),
        (at("sparkc:ours.yaml"), "compile with --image {0}, or write it into a copy of the recipe"),
        (from_flag("--image x"), "give --image {0}"),
    ],
)
def test_the_hint_names_the_image_and_a_place_that_the_user_can_change(reference, pinned, origin, remedy):
    assert image_hint(reference, origin) == (
        f"{remedy.format(pinned)}; `docker image inspect --format '{{{{.RepoDigests}}}}' {reference}` shows the digest"
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("recipes/mine.yaml", "add the 40-hex revision of the snapshot that you tested"),
        ("sparkc:ours.yaml", "add the 40-hex revision of the snapshot that you tested to a copy of the recipe"),
    ],
)
def test_a_revision_is_added_where_the_user_can_write(name, hint):
    plan = compile_text(native()).plan
    assert plan is not None
    report = Report()
    check_models(replace(plan.recipe, revision=None), (Traced("org/model", at(name)),), (), report)
    assert [(d.code, d.hint) for d in report.diagnostics] == [("SPK362", hint)]
