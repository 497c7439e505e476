"""Braces in two syntaxes, and how a value takes a placeholder's place."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.recipe.model import Param, Text, Word
from sparkc.recipe.placeholders import fill, fill_shell, fill_word, parts_of, quote
from sparkc.recipe.splitting import split_words
from sparkc.traced import from_rule


def parts(text, syntax, report=None):
    report = report or Report()
    document = read_document("r.yaml", f"command: |-\n  {text}\n".encode(), report)
    return parts_of(document.root.get("command"), syntax, report)


def shape(found):
    return [part.text if isinstance(part, Text) else (part.name,) for part in found]


def word(*pieces):
    span = parts("{x}", "native")[0].span
    made = [Text(p) if isinstance(p, str) else Param(p[0], span, p[1]) for p in pieces]
    return Word(tuple(made), from_rule("test", ""))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {port} b", ["a ", ("port",), " b"]),
        ('{{"method":"mtp","k":{n}}}', ['{"method":"mtp","k":', ("n",), "}"]),
        ("{{port}}", ["{port}"]),
        ("{{{port}}}", ["{", ("port",), "}"]),
        ("", [""]),
    ],
)
def test_v1_braces_are_one_pass_from_the_left(text, expected):
    assert shape(parts(text, "v1")) == expected


@pytest.mark.parametrize("text", ["{a} {{x}} {b}{c}", '{{"k":{n},"l":[{{}}]}}', "{{{{a}}}}", "}}{{"])
def test_v1_braces_mean_what_str_format_makes_of_them(text):
    values = {"a": "1", "b": "2", "c": "{a}", "n": "3"}
    assert fill(parts(text, "v1"), values) == text.format(**values)


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ('x {"a":1}', 5, "double the braces of JSON"),
        ("x {}", 5, "name a parameter"),
        ("x {0}", 5, "name a parameter"),
        ("x {p:>8}", 5, "write {p}"),
        ("x {x.y}", 5, "write {x}"),
        ("x }", 5, "write }}"),
        ("x {", 5, "write {{"),
    ],
)
def test_v1_other_braces_are_located_errors(text, column, hint):
    report = Report()
    parts(text, "v1", report)
    (found,) = report.diagnostics
    assert (found.code, found.span.line, found.span.column) == ("SPK110", 2, column)
    assert hint in found.hint


def test_v1_reports_every_bad_brace_in_one_run():
    report = Report()
    parts('{} {"a":{"b":1}} {p!r}', "v1", report)
    assert [found.span.column for found in report.diagnostics] == [3, 6, 20]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{port}", [("port",)]),
        ("{node.name}:{head.address}", [("node.name",), ":", ("head.address",)]),
        ("{{x}}", ["{{x}}"]),
        ("{{ messages }}", ["{{ messages }}"]),
        ('{"a":{"b":{ctx}}}', ['{"a":{"b":', ("ctx",), "}}"]),
        ("${HOME}/x ${X:-y} x${", ["${HOME}/x ${X:-y} x${"]),
        ("{} {0} {x.y} {p:>8} } {", ["{} {0} {x.y} {p:>8} } {"]),
    ],
)
def test_native_braces_stay_as_typed_except_placeholders(text, expected):
    assert shape(parts(text, "native")) == expected


def test_a_placeholder_knows_its_place():
    (_, param) = parts("--port {port}", "native")
    assert (param.span.line, param.span.column, param.span.end_column) == (2, 10, 16)


@pytest.mark.parametrize(
    ("pieces", "value", "expected"),
    [
        ([("v", "words")], "a b", ["a", "b"]),
        (["--x=", ("v", "words")], "a b", ["--x=a", "b"]),
        ([("v", "words"), "/c"], "a b", ["a", "b/c"]),
        ([("v", "words")], "", []),
        ([("v", "words")], "  ", []),
        (["", ("v", "words")], "", [""]),
        ([("v", "words")], '""', [""]),
        ([("v", "words")], '\'a b\' c\\ d "e\\"f"', ["a b", "c d", 'e"f']),
        ([("v", "words")], "a\nb\t c", ["a", "b", "c"]),
        ([("v", "data")], "a b 'c", ["a b 'c"]),
        ([("v", "data")], "", [""]),
        ([("v", "words")], "{v} $HOME", ["{v}", "$HOME"]),
    ],
)
def test_a_value_splits_only_outside_quotes(pieces, value, expected):
    report = Report()
    assert fill_word(word(*pieces), {"v": value}, report) == expected
    assert report.diagnostics == ()


def test_a_value_with_an_open_quote_is_a_located_error():
    report = Report()
    assert fill_word(word(("v", "words")), {"v": "it's"}, report) == ["it's"]
    (found,) = report.diagnostics
    assert (found.code, found.span.line) == ("SPK122", 2)
    assert "it's" in found.message


VALUES = st.text(alphabet=st.sampled_from("ab '\"\\$`{}*é\t"), max_size=12)


@given(VALUES)
def test_a_value_in_quotes_of_a_script_arrives_as_it_is(value):
    shell = [
        Text("printf %s '"),
        *word(("v", "single")).parts,
        Text("'; printf '|%s' \""),
        *word(("v", "double")).parts,
    ]
    script = fill_shell([*shell, Text('"')], {"v": value}, Report())
    out = subprocess.run(["bash", "-c", script], capture_output=True, check=True, text=True).stdout
    assert out == f"{value}|{value}"


@given(VALUES)
def test_a_value_in_a_here_document_arrives_as_it_is(value):
    for mark, context in (("E", "heredoc"), ("'E'", "data")):
        script = fill_shell(
            [Text(f"cat <<{mark}\n"), *word(("v", context)).parts, Text("\nE\n")], {"v": value}, Report()
        )
        out = subprocess.run(["bash", "-c", script], capture_output=True, check=True, text=True).stdout
        assert out == f"{value}\n"


@given(VALUES)
def test_a_value_outside_quotes_of_a_script_splits_as_in_an_argv(value):
    if split_words(value) is None:
        return
    pieces = (["--x="], [("v", "words")], ["-"])
    made = word(*(piece for group in pieces for piece in group))
    script = "printf '%s\\0' " + fill_shell(made.parts, {"v": value}, Report())
    out = subprocess.run(["bash", "-c", script], capture_output=True, check=True, text=True).stdout
    assert out.split("\0")[:-1] == fill_word(made, {"v": value}, Report())


@given(st.text(alphabet=st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=20))
def test_quote_is_one_word(text):
    assert split_words(quote(text)) == [text]
