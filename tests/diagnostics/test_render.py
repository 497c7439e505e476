"""Diagnostics as people, programs and GitHub see them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from sparkc.diagnostics import Diagnostic, Related, Report, Severity, render
from sparkc.reading.read import read_document
from sparkc.reading.source import Source, Span

FORMATS = ["text", "json", "github"]

FILES = {
    "duplicates": "env:\n  NCCL_DEBUG: WARN\n  NCCL_DEBUG: INFO\nimage: a\nimage: b\n",
    "wide-characters": '名前: "日本語" x\n',
    "combining-marks": "e\u0301e\u0301: [a\n",
    "tab": "env:\n\tA: 1\n",
    "no-break-space": "image: x\nport:\u00a08000\n",
    "terminal-escape": "a: \x1b[31mred\n",
    "bidirectional-override": "a: &x\nb: '\u202e' y\n",
    "long-line": "json: '" + "x" * 300 + "' y: " + "z" * 200 + "\n",
    "empty": "",
}


def read(text: str) -> tuple[Diagnostic, ...]:
    report = Report()
    read_document("recipe.yaml", text.encode(), report)
    return report.diagnostics


def some(
    message: str = "m", name: str = "a.yaml", severity: Severity = Severity.ERROR, hint: str | None = None
) -> Diagnostic:
    return Diagnostic("SPK004", severity, message, Span(Source(name, "abc: def\n"), 1, 6, 1, 9), hint)


@pytest.mark.parametrize("name", FILES)
def test_text(name: str, snapshot: SnapshotAssertion) -> None:
    assert render(read(FILES[name]), "text", color=False) == snapshot


def test_carets_stand_below_what_they_mean_whatever_the_width() -> None:
    lines = render(read("日: 1\n日: 2\n"), "text", color=False).split("\n")
    assert lines[1:3] == ["  2 | 日: 2", "    | ^^"]


def test_the_summary_counts_each_severity() -> None:
    found = [some("a"), some("b"), some("c", severity=Severity.WARNING), some("d", severity=Severity.NOTE)]
    assert render(found, "text", color=False).endswith("\n\n2 errors, 1 warning, 1 note\n")


def test_a_span_over_several_lines_is_marked_to_the_end_of_its_first() -> None:
    found = Diagnostic("SPK004", Severity.ERROR, "m", Span(Source("a", "x: ab\n  cd\n"), 1, 4, 2, 5))
    assert "  1 | x: ab\n    |    ^^\n" in render([found], "text", color=False)


def test_without_a_place_only_the_message_stands() -> None:
    found = Diagnostic("SPK004", Severity.WARNING, "no such recipe", hint="type\nsparkc list")
    assert render([found], "text", color=False) == (
        "warning[SPK004]: no such recipe\n  help: type\n        sparkc list\n\n1 warning\n"
    )


def test_colour_changes_no_character() -> None:
    import click

    coloured = render(read(FILES["duplicates"]), "text", color=True)
    assert "\x1b[" in coloured
    assert click.unstyle(coloured) == render(read(FILES["duplicates"]), "text", color=False)


def test_nothing_is_said_about_nothing() -> None:
    assert render([], "text", color=True) == ""
    assert render([], "github", color=False) == ""
    assert json.loads(render([], "json", color=False)) == {
        "diagnostics": [],
        "summary": {"errors": 0, "warnings": 0, "notes": 0},
    }


def test_json_has_every_field() -> None:
    source = Source("a.yaml", "abc: def\n")
    related = Related("first here", Span(source, 1, 1, 1, 4))
    found = Diagnostic("SPK006", Severity.ERROR, "twice", Span(source, 1, 6, 1, 9), "remove one", (related,))
    place = {"file": "a.yaml", "line": 1, "column": 6, "end_line": 1, "end_column": 9}
    first = {"file": "a.yaml", "line": 1, "column": 1, "end_line": 1, "end_column": 4}
    assert json.loads(render([found], "json", color=False)) == {
        "diagnostics": [
            {
                "code": "SPK006",
                "severity": "error",
                "message": "twice",
                **place,
                "hint": "remove one",
                "related": [{"message": "first here", **first}],
            }
        ],
        "summary": {"errors": 1, "warnings": 0, "notes": 0},
    }


def test_json_without_a_place_has_null() -> None:
    found = json.loads(render([Diagnostic("SPK004", Severity.NOTE, "m")], "json", color=False))["diagnostics"][0]
    assert [found[key] for key in ("file", "line", "column", "end_line", "end_column", "hint")] == [None] * 6


def test_github_annotations_mark_the_same_characters() -> None:
    assert render([some()], "github", color=False) == (
        "::error file=a.yaml,line=1,col=6,endColumn=8,title=SPK004::m\nsparkc: 1 error\n"
    )


def test_github_escapes_what_its_commands_are_made_of() -> None:
    found = some("50%: a, b\nsecond", name="a:b,c%.yaml", severity=Severity.NOTE, hint="x")
    assert render([found], "github", color=False).split("\n")[0] == (
        "::notice file=a%3Ab%2Cc%25.yaml,line=1,col=6,endColumn=8,title=SPK004::50%25: a, b%0Asecond%0Ahelp: x"
    )


def test_github_has_no_columns_for_a_span_over_several_lines() -> None:
    found = Diagnostic("SPK004", Severity.WARNING, "m", Span(Source("a", "x: ab\n  cd\n"), 1, 4, 2, 5))
    assert render([found], "github", color=False).startswith("::warning file=a,line=1,endLine=2,title=SPK004::m\n")


def test_the_github_log_tells_how_many_there_are() -> None:
    found = [some(f"fault {number}") for number in range(12)]
    lines = render(found, "github", color=False).splitlines()
    assert (len(lines), lines[-1]) == (13, "sparkc: 12 errors")


@pytest.mark.parametrize("format_name", FORMATS)
@given(text=st.text(max_size=30), other=st.text(max_size=10), start=st.integers(1, 40), end=st.integers(1, 40))
def test_no_control_character_ever_reaches_the_terminal(
    format_name: str, text: str, other: str, start: int, end: int
) -> None:
    line = text.replace("\n", "")
    span = Span(Source(other.replace("\n", ""), line), 1, start, 1, max(start, end))
    found = Diagnostic("SPK004", Severity.ERROR, text, span, other, (Related(other, span),))
    output = render([found], format_name, color=False)  # type: ignore[arg-type]
    assert output.replace("\n", "").isprintable()
