"""TOML: tomli's values with our places."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.node import Document, Mapping, Node, Scalar, Sequence
from sparkc.reading.read import read_document


def read(text: str | bytes) -> Document:
    report = Report()
    document = read_document("recipe.toml", text.encode() if isinstance(text, str) else text, report)
    assert report.diagnostics == ()
    assert document is not None
    return document


def faults(text: str) -> list[tuple[str, str, str]]:
    report = Report()
    assert read_document("recipe.toml", text.encode(), report) is None
    assert all(diagnostic.hint for diagnostic in report.diagnostics)
    return [(found.code, str(found.span), found.message) for found in report.diagnostics]


def same(node: Node, value: Any) -> bool:
    if isinstance(node, Mapping):
        return [entry.key.text for entry in node.entries] == list(value) and all(
            same(entry.value, value[entry.key.text]) for entry in node.entries
        )
    if isinstance(node, Sequence):
        return len(node.items) == len(value) and all(map(same, node.items, value))
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return node.value == node.text
    if isinstance(value, float) and math.isnan(value):
        return isinstance(node.value, float) and math.isnan(node.value)
    return node.value == value and type(node.value) is type(value)


SAMPLE = """\
# comment
title = "x" # behind
"quoted key".'lit' = 'C:\\dir'
number = 131_072
hex = 0xDEAD_beef
bits = 0b101
float = 1.50
big = 6.626e-34
infinite = -inf
missing = nan
day = 2026-01-01 10:00:00Z
time = 07:32:00
flag = true
text = \"\"\"
two \\
   lines "" ok\"\"\"\"\"
raw = '''
a'b''c'''
list = [1, "a", # one
  [true, 'b'], {c = 1, d.e = "f"},
]
escaped = "tab\\t\\u00e9"
a.b.c = 1
a.b.d = 2

[env]
KEY = "v"
[[nodes]]
name = "s1"
[nodes.env]
A = "1"
[[nodes]]
name = "s2"
[deep.er.table]
[deep]
x = 1
"""


def test_every_construct_has_the_values_that_tomli_gives() -> None:
    assert same(read(SAMPLE).root, tomli.loads(SAMPLE))


def test_typed_values_keep_their_characters() -> None:
    root = read(SAMPLE).root
    shown = {key: root.get(key) for key in ("number", "hex", "float", "day", "flag", "infinite")}
    assert {key: node.text for key, node in shown.items() if isinstance(node, Scalar)} == {
        "number": "131_072",
        "hex": "0xDEAD_beef",
        "float": "1.50",
        "day": "2026-01-01 10:00:00Z",
        "flag": "true",
        "infinite": "-inf",
    }


def test_keys_and_values_have_exact_places() -> None:
    document = read('[env]\n"é"   = "日本" # x\nlist = [1,\n  22]\n')
    env = document.root.get("env")
    assert isinstance(env, Mapping)
    first, second = env.entries
    assert (str(first.key.span), first.key.span.end_column) == ("recipe.toml:2:1", 4)
    assert (str(first.value.span), first.value.span.end_column) == ("recipe.toml:2:9", 13)
    assert isinstance(second.value, Sequence)
    assert str(second.value.items[1].span) == "recipe.toml:4:3"
    assert (second.value.span.line, second.value.span.end_line) == (3, 4)


def test_bom_and_crlf_change_nothing() -> None:
    plain = 'a = "x"\ncommand = """\none \\\n  two\nthree\n"""\n[env]\nK = "v"\n'
    windows = b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode()
    assert read(windows) == read(plain)


def test_all_duplicate_keys_are_reported_with_the_line_of_the_first() -> None:
    text = 'image = "a:1"\nimage = "a:2"\n[env]\nA = "1"\nA = "2"\n[env]\n'
    assert faults(text) == [
        ("SPK006", "recipe.toml:2:1", "duplicate key 'image', first defined at line 1"),
        ("SPK006", "recipe.toml:5:1", "duplicate key 'A', first defined at line 4"),
        ("SPK006", "recipe.toml:6:2", "duplicate key 'env', first defined at line 3"),
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = {b = 1, b = 2}\n", "1:13"),
        ("a.b = 1\na = 2\n", "2:1"),
        ("a = 1\na.b = 2\n", "2:1"),
        ("a = {b = 1}\na.c = 2\n", "2:1"),
        ("a = {b = 1}\n[a]\n", "2:2"),
        ("a = []\n[[a]]\n", "2:3"),
        ("[[a]]\n[a]\n", "2:2"),
        ("\"a\" = 1\n'a' = 2\n", "2:1"),
        ('"\\u0061" = 1\na = 2\n', "2:1"),
    ],
)
def test_a_key_is_a_duplicate_however_it_is_written(text: str, place: str) -> None:
    ((code, found, message),) = faults(text)
    assert (code, found) == ("SPK006", f"recipe.toml:{place}")
    assert "line 1" in message


@pytest.mark.parametrize(
    ("text", "code", "place", "part"),
    [
        ("", "SPK014", "1:1", "empty"),
        ("# nothing\n", "SPK014", "1:1", "empty"),
        ("a = NO\n", "SPK017", "1:5", "invalid value"),
        ("a =\n", "SPK017", "1:4", "invalid value"),
        ('a = "x\nb = 1\n', "SPK017", "1:7", "unterminated string"),
        ("a: 1\n", "SPK017", "1:2", "expected '='"),
        ("a = 1 b = 2\n", "SPK017", "1:7", "expected newline"),
        ("a = [1, 2\n", "SPK017", "2:1", "unclosed array"),
        ('a = "\\q"\n', "SPK017", "1:8", "unescaped '\\'"),
        ("ok = 1\n[a\n", "SPK017", "2:3", "expected ']'"),
    ],
)
def test_each_fault_has_its_code_and_place(text: str, code: str, place: str, part: str) -> None:
    ((found_code, found_place, message),) = faults(text)
    assert (found_code, found_place) == (code, f"recipe.toml:{place}")
    assert part in message


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{b = " * 100_000,
        "a." * 100_000 + "b = 1",
        "[" + "a." * 100_000 + "b]\n",
        "a = " + "[" * 64 + "]" * 64,
    ],
)
def test_deep_nesting_is_refused_without_recursion(text: str) -> None:
    ((code, _, _),) = faults(text)
    assert code == "SPK010"


def test_nesting_up_to_the_limit_is_read() -> None:
    assert read("a = " + "[" * 63 + "]" * 63)


KEYS = st.text("abAB0-_", min_size=1, max_size=3) | st.text("a.\"'\\é =", max_size=3).map(
    lambda key: f"'{key}'" if "'" not in key else "k"
)
STRINGS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).map(
    lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
)
VALUES = st.recursive(
    STRINGS | st.sampled_from(["1", "+1_0", "1.50", "true", "inf", "2026-01-01", "'l'", '"""m\n"q" """', "'''x''y'''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[ {', '.join(items)} ]")
        | st.lists(inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"k{n} = {item}" for n, item in enumerate(items)) + "}"
        )
    ),
    max_leaves=8,
)
LINES = st.tuples(KEYS, VALUES).map(" = ".join) | KEYS.map("[{}]".format) | KEYS.map("[[{}]]".format) | st.just("# c")


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_what_tomli_accepts_is_read_with_the_same_values_and_the_rest_is_refused(text: str) -> None:
    report = Report()
    document = read_document("recipe.toml", text.encode(), report)
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError:
        assert report.failed
        return
    if values:
        assert document is not None
        assert same(document.root, values)
    else:
        assert [found.code for found in report.diagnostics] == ["SPK014"]
