"""Typed access to keys: values as typed, origins, and one located fault per wrong key."""

from __future__ import annotations

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.reading.fields import Fields
from sparkc.reading.read import read_document


def fields(text: str, *, name: str = "r.yaml", lenient: bool = False) -> Fields:
    report = Report()
    document = read_document(name, text.encode(), report)
    assert document is not None, report.diagnostics
    return Fields(document.root, "", report, lenient=lenient)


def codes(found: Fields) -> list[str]:
    assert all(diagnostic.hint for diagnostic in found.report.diagnostics)
    return [f"{diagnostic.code} {diagnostic.span}" for diagnostic in found.report.diagnostics]


def test_text_is_what_was_typed_with_its_origin() -> None:
    root = fields("engine:\n  version: 24.10\n")
    engine = root.fields("engine")
    assert engine is not None
    version = engine.text("version")
    assert version is not None
    assert (version.value, version.origin.text, str(version.origin.span)) == (
        "24.10",
        "r.yaml: engine.version",
        "r.yaml:2:12",
    )


@pytest.mark.parametrize("text", ["b: 1\n", "a:\nb: 1\n", "a: null\n", "a: ~\n"])
def test_absent_and_null_are_none_everywhere(text: str) -> None:
    root = fields(text)
    found = [root.node("a"), root.text("a"), root.integer("a"), root.boolean("a"), root.fields("a")]
    assert found == [None] * 5
    assert (root.texts("a"), root.text_map("a"), root.items("a")) == ((), {}, ())
    assert codes(root) == []


def test_an_empty_quoted_text_is_a_value() -> None:
    text = fields("a: ''\n").text("a")
    assert text is not None
    assert text.value == ""


@pytest.mark.parametrize(
    ("text", "value"), [("8000", 8000), ("'8000'", 8000), ("131_072", 131072), ("0", 0), ("-1", -1)]
)
def test_integers(text: str, value: int) -> None:
    number = fields(f"a: {text}\n").integer("a")
    assert number is not None
    assert number.value == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0022", "leading zero"),
        ("1e5", '"1e5"'),
        ("131,072", '"131,072"'),
        ("0x10", '"0x10"'),
        ("1.0", '"1.0"'),
        ("1__0", '"1__0"'),
        ("9" * 5000, "999..."),
        ("eight", '"eight"'),
    ],
)
def test_what_is_no_decimal_integer(text: str, part: str) -> None:
    root = fields(f"a: {text}\n")
    assert root.integer("a") is None
    assert codes(root) == ["SPK022 r.yaml:1:4"]
    assert part in root.report.diagnostics[0].message


def test_a_number_out_of_range_names_the_range() -> None:
    root = fields("port: 70000\n")
    assert root.integer("port", 1, 65535) is None
    assert root.report.diagnostics[0].message == "port is 70000, but must be between 1 and 65535"
    assert root.integer("port", minimum=70000) is not None


def test_booleans_are_true_and_false() -> None:
    root = fields("a: true\nb: False\nc: yes\nd: 'true'\n")
    assert [found and found.value for found in map(root.boolean, "abcd")] == [True, False, None, None]
    assert codes(root) == ["SPK024 r.yaml:3:4", "SPK024 r.yaml:4:4"]
    assert [found.hint for found in root.report.diagnostics] == [
        "write c: true, without quotes",
        "write d: true, without quotes",
    ]


def test_foreign_dialects_have_the_booleans_of_yaml_1_1() -> None:
    root = fields("a: yes\nb: Off\nc: 'NO'\nd: maybe\n", lenient=True)
    assert [found and found.value for found in map(root.boolean, "abcd")] == [True, False, False, None]


def test_lists_of_texts() -> None:
    root = fields("args: [--port, 8000, NO, '', 1e6]\n")
    assert [text.value for text in root.texts("args")] == ["--port", "8000", "NO", "", "1e6"]
    assert root.texts("args")[1].origin.text == "r.yaml: args[1]"


def test_null_and_nested_items_are_all_reported() -> None:
    root = fields("args:\n  - a\n  -\n  - null\n  - [b]\n  - c\n")
    assert [text.value for text in root.texts("args")] == ["a", "c"]
    assert codes(root) == ["SPK025 r.yaml:3:4", "SPK025 r.yaml:4:5", "SPK021 r.yaml:5:5"]


def test_text_maps_keep_order_and_null() -> None:
    root = fields("env:\n  B: 0123\n  A:\n  C: ''\n")
    assert {key: traced.value for key, traced in root.text_map("env").items()} == {"B": "0123", "A": None, "C": ""}
    assert list(root.text_map("env")) == ["B", "A", "C"]
    assert str(root.text_map("env")["A"].origin.span) == "r.yaml:3:3"


def test_an_empty_list_is_an_empty_mapping_only_in_foreign_dialects() -> None:
    assert fields("env: []\n", lenient=True).text_map("env") == {}
    strict = fields("env: []\n")
    assert strict.text_map("env") == {}
    assert codes(strict) == ["SPK021 r.yaml:1:6"]


def test_toml_values_that_must_be_strings_are_to_be_quoted() -> None:
    root = fields("n = 1.50\nargs = ['a', 8000]\n[env]\nA = 'x'\nDAY = 2026-01-01\nB.C = '1'\n", name="r.toml")
    assert [text.value for text in root.texts("args")] == ["a"]
    assert list(root.text_map("env")) == ["A"]
    assert codes(root) == ["SPK026 r.toml:2:14", "SPK026 r.toml:5:7", "SPK021 r.toml:6:1"]
    assert root.report.diagnostics[0].hint == 'quote it: "8000"'
    number = root.text("n")
    assert number is not None
    assert number.value == "1.50"


def test_wrong_shapes_are_named() -> None:
    root = fields("a: [1]\nb: {c: 1}\nd: x\n")
    assert (root.text("a"), root.texts("b"), root.fields("d"), root.items("d")) == (None, (), None, ())
    assert [diagnostic.message for diagnostic in root.report.diagnostics] == [
        "a must be a single value, not a list",
        "b must be a list, not a mapping",
        'd must be a mapping, not "x"',
        'd must be a list, not "x"',
    ]


def test_items_are_mappings_with_their_index_as_path() -> None:
    root = fields("nodes:\n  - {name: a}\n  - b\n  - {name: c}\n")
    items = root.items("nodes")
    assert [item.key_path("name") for item in items] == ["nodes[0].name", "nodes[2].name"]
    assert codes(root) == ["SPK021 r.yaml:3:5"]


def test_unknown_keys_have_the_chosen_severity_and_a_near_name() -> None:
    root = fields("contaner: x\nname: y\nzzz: 1\n")
    root.unknown(["container", "name"], severity=Severity.WARNING)
    found = root.report.diagnostics
    assert [(d.code, d.severity, d.message, d.hint) for d in found] == [
        ("SPK020", Severity.WARNING, "unknown key 'contaner'", "did you mean 'container'?"),
        ("SPK020", Severity.WARNING, "unknown key 'zzz'", "known keys: container, name"),
    ]
    assert str(root.span("contaner")) == "r.yaml:1:1"
    assert root.span("container") is None
