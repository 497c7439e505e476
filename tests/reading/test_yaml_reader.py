"""YAML: what is accepted keeps its characters and places; what is refused is located and explained."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading import yaml_reader
from sparkc.reading.node import Document, Mapping, Scalar, Sequence
from sparkc.reading.read import MAX_BYTES, read_document


def read(text: str | bytes) -> Document:
    report = Report()
    document = read_document("recipe.yaml", text.encode() if isinstance(text, str) else text, report)
    assert report.diagnostics == ()
    assert document is not None
    return document


def faults(text: str | bytes) -> list[tuple[str, str, str]]:
    report = Report()
    assert read_document("recipe.yaml", text.encode() if isinstance(text, str) else text, report) is None
    assert all(diagnostic.hint for diagnostic in report.diagnostics)
    return [(found.code, str(found.span), found.message) for found in report.diagnostics]


def only_fault(text: str | bytes) -> tuple[str, str, str]:
    (found,) = faults(text)
    return found


def texts(document: Document) -> dict[str, object]:
    return {entry.key.text: getattr(entry.value, "text", entry.value) for entry in document.root.entries}


@pytest.mark.parametrize(
    "text",
    [
        "NO",
        "on",
        "0123",
        "0899",
        "24.10",
        "0.90",
        "1e-5",
        "25921e05",
        "22:22",
        "2026-09-20",
        "1_000",
        "0x1F",
        ".inf",
        "=x",
    ],
)
def test_plain_scalars_keep_the_characters_that_were_typed(text: str) -> None:
    value = read(f"A: {text}\n").root.get("A")
    assert isinstance(value, Scalar)
    assert (value.text, value.style) == (text, "plain")


def test_quotes_and_blocks_are_strings_beyond_doubt() -> None:
    document = read("a: '1'\nb: \"1\"\nc: |\n  1\nd: >-\n  1\n")
    assert [entry.value.style for entry in document.root.entries if isinstance(entry.value, Scalar)] == ["quoted"] * 4
    assert texts(document) == {"a": "1", "b": "1", "c": "1\n", "d": "1"}


def test_spans_count_characters_not_bytes() -> None:
    document = read('é😀: "日本" # x\nlist: [a, bc]\n')
    first, second = document.root.entries
    assert (str(first.key.span), first.key.span.end_column) == ("recipe.yaml:1:1", 3)
    assert (str(first.value.span), first.value.span.end_column) == ("recipe.yaml:1:5", 9)
    assert isinstance(second.value, Sequence)
    assert str(second.value.items[1].span) == "recipe.yaml:2:11"


def test_a_blocks_span_ends_with_its_last_value() -> None:
    value = read("a:\n  b: 1\n  c: 2\n\n# later\n\nd: 1\n").root.get("a")
    assert value is not None
    assert (value.span.line, value.span.end_line, value.span.end_column) == (2, 3, 7)


def test_anchor_and_tag_are_not_part_of_the_scalars_span() -> None:
    value = read("a: &x !!str  text\n").root.get("a")
    assert value is not None
    assert (value.span.column, value.span.end_column) == (14, 18)


def test_bom_and_crlf_change_nothing() -> None:
    plain = "name: x\ncommand: |\n  a \\\n    b\nenv:\n  K: v\n"
    windows = b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode()
    assert read(windows) == read(plain)


def test_line_separators_of_yaml_1_1_are_ordinary_characters() -> None:
    document = read("a: x\x85y\u2028z\u2029w\nb: 'p\u2028q'\nc: 1\n")
    assert texts(document) == {"a": "x\x85y\u2028z\u2029w", "b": "p\u2028q", "c": "1"}
    assert document.root.entries[2].key.span.line == 3


def test_all_duplicate_keys_are_reported_with_the_line_of_the_first() -> None:
    text = "image: a:1\nenv:\n  NCCL_DEBUG: WARN\n  NCCL_DEBUG: INFO\nimage: a:2\nimage: a:3\n"
    assert faults(text) == [
        ("SPK006", "recipe.yaml:4:3", "duplicate key 'NCCL_DEBUG', first defined at line 3"),
        ("SPK006", "recipe.yaml:5:1", "duplicate key 'image', first defined at line 1"),
        ("SPK006", "recipe.yaml:6:1", "duplicate key 'image', first defined at line 1"),
    ]


def test_a_duplicate_points_at_the_first_key() -> None:
    report = Report()
    read_document("recipe.yaml", b"a: 1\nb: 2\na: 3\n", report)
    (related,) = report.diagnostics[0].related
    assert str(related.span) == "recipe.yaml:1:1"


@pytest.mark.parametrize(
    ("first", "second"), [("1", "01"), ("1", "0x1"), ("true", "True"), ("1.0", "1.00"), ("1", "'1'")]
)
def test_keys_equal_after_resolution_are_duplicates(first: str, second: str) -> None:
    code, place, message = only_fault(f"ranks:\n  {first}: a\n  {second}: b\n")
    assert (code, place) == ("SPK006", "recipe.yaml:3:3")
    assert "line 2" in message


def test_texts_that_only_yaml_1_1_takes_for_the_same_are_two_keys() -> None:
    assert list(texts(read("NO: 1\nno: 2\n'01': 3\n1: 4\n"))) == ["NO", "no", "01", "1"]


@pytest.mark.parametrize(
    ("text", "code", "place", "part"),
    [
        ("", "SPK014", "1:1", "empty"),
        ("# only a comment\n", "SPK014", "1:1", "empty"),
        ("---\n", "SPK014", "1:1", "empty"),
        ("- a\n- b\n", "SPK013", "1:1", "a list"),
        ("just text\n", "SPK013", "1:1", "a single text"),
        ("a: 1\n---\nb: 2\n", "SPK007", "2:1", "second document"),
        ("A: &x\nb: 1\n", "SPK008", "1:4", "anchor &x has no value"),
        ("a: *x\n", "SPK009", "1:4", "no anchor &x"),
        ("a: &x [*x]\n", "SPK009", "1:8", "inside its own anchor"),
        ("a: !!python/object:os.system x\n", "SPK011", "1:4", "!!python/object:os.system"),
        ("a: !secret x\n", "SPK011", "1:4", "!secret"),
        ("a: !x!y z\n", "SPK011", "1:4", "tag"),
        ("a: !!int x\n", "SPK011", "1:10", "no int"),
        ("a: !!str [x]\n", "SPK011", "1:4", "!!str"),
        ("a: {{port}}\n", "SPK012", "1:5", "a mapping"),
        ("? [a]\n: 1\n", "SPK012", "1:3", "a list"),
        ("? \n: 1\n", "SPK012", "1:2", "empty"),
        ("<<: 5\n", "SPK016", "1:1", "merge only mappings"),
        ("a: b: c\n", "SPK004", "1:5", "': '"),
        ("a: [1, 2\nb: 3\n", "SPK004", "1:4", "list is not closed"),
        ("a: {b: 1\n", "SPK004", "1:4", "mapping is not closed"),
        ('a: "x\nb: 1\n', "SPK004", "1:4", "quote is not closed"),
        ('a: "\\q"\n', "SPK004", "1:5", "unknown escape"),
        ('a: "\\ud800"\n', "SPK004", "1:7", "no Unicode character"),
        ("a: @x\n", "SPK004", "1:4", "cannot start with '@'"),
        ("a: `x`\n", "SPK004", "1:4", "cannot start with '`'"),
        ("a: %x\n", "SPK004", "1:4", "cannot start with '%'"),
        ("a:\n    b: 1\n  c: 2\n", "SPK004", "3:3", "neither the key above"),
        ("- a\nb: 1\n", "SPK004", "2:1", "neither the list above"),
        ("a: - b\n", "SPK004", "1:4", "list item cannot start"),
        ("a: ]\n", "SPK004", "1:4", "value is missing"),
        ("a: 1\nb c\nd: 2\n", "SPK004", "2:1", "no 'key: value' line"),
        ("a:\n\tb: 1\n", "SPK005", "2:1", "tab"),
        ("a: 1\n\tb: 2\n", "SPK005", "2:1", "tab"),
        ("a:\u00a01\n", "SPK015", "1:3", "U+00A0"),
        ("b: 1\na:\u00a01\n", "SPK015", "2:3", "U+00A0"),
        ("b: 1\n\u00a0a: 1\n", "SPK015", "2:1", "U+00A0"),
        ("a: \x07\n", "SPK003", "1:4", "U+0007"),
        ("a: 1\n\x00", "SPK003", "2:1", "U+0000"),
        ("a: 1\rb: 2\n", "SPK003", "1:5", "U+000D"),
    ],
)
def test_each_fault_has_its_code_its_place_and_says_what_is_wrong(text: str, code: str, place: str, part: str) -> None:
    found_code, found_place, message = only_fault(text)
    assert (found_code, found_place) == (code, f"recipe.yaml:{place}")
    assert part in message


def test_the_error_for_other_encodings_names_byte_and_line() -> None:
    code, place, message = only_fault(b"a: 1\nb: caf\xe9\n")
    assert (code, place) == ("SPK001", "recipe.yaml:2:7")
    assert "byte 0xe9 at offset 11" in message
    report = Report()
    read_document("recipe.yaml", "a: 1".encode("utf-16"), report)
    assert report.diagnostics[0].hint == "save the file as UTF-8, it is UTF-16"


def test_a_file_over_the_limit_is_refused_unread() -> None:
    assert only_fault(b"#" * (MAX_BYTES + 1))[0] == "SPK002"


def test_faults_before_a_syntax_error_are_reported_with_it() -> None:
    assert [code for code, _, _ in faults("env:\n  a: &x\n  a: 1\nb: [\n")] == ["SPK008", "SPK006", "SPK004"]


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "a: [" * 50_000, "- " * 50_000, "{a: " * 65, "a: " + "[" * 64 + "]" * 64]
)
def test_deep_nesting_is_refused_without_recursion(text: str) -> None:
    assert only_fault(text)[0] == "SPK010"


def test_nesting_up_to_the_limit_is_read() -> None:
    assert read("a: " + "[" * 63 + "]" * 63)


def test_aliases_share_the_anchored_value() -> None:
    document = read("a: &x [1, 2]\nb: *x\n")
    assert document.root.get("a") == document.root.get("b")


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    code, place, message = only_fault("\n".join(lines))
    assert (code, place.split(":")[1]) == ("SPK009", "4")
    assert "10000" in message


def test_aliases_cannot_nest_deeper_than_the_limit() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 80))]
    assert only_fault("\n".join(lines))[0] == "SPK010"


def test_merge_keys_fill_in_what_is_not_written() -> None:
    document = read("x: &x {b: 1, c: 2}\ny: &y {c: 3, d: 4}\nz:\n  <<: [*x, *y]\n  b: 9\n")
    merged = document.root.get("z")
    assert isinstance(merged, Mapping)
    pairs = [(entry.key.text, entry.value.text) for entry in merged.entries if isinstance(entry.value, Scalar)]
    assert pairs == [("c", "2"), ("d", "4"), ("b", "9")]


def test_a_quoted_merge_sign_is_a_key_like_any_other() -> None:
    assert texts(read('"<<": x\n')) == {"<<": "x"}


def test_tags_of_the_core_schema_are_obeyed() -> None:
    document = read("a: !!str 1\nb: !!int 1\nc: ! x\nd: !!map {}\n")
    styles = [entry.value.style for entry in document.root.entries if isinstance(entry.value, Scalar)]
    assert styles == ["quoted", "plain", "quoted"]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_quoted_text_round_trips(text: str) -> None:
    document = read(yaml.safe_dump({"key": text}, default_style='"', allow_unicode=True))
    assert document.root.get("key") == Scalar(text, "quoted", document.root.entries[0].value.span)


@given(st.dictionaries(st.text("abc: #'\"-", min_size=1), st.text("ab :#\n'\"\\{}[],&*!|>%@`\t-?~"), min_size=1))
def test_whatever_pyyaml_writes_is_read_back(data: dict[str, str]) -> None:
    assert texts(read(yaml.safe_dump(data, sort_keys=False))) == data


@pytest.mark.parametrize("text", ["a: é\nb: [1, {c: d}]\n", "a: |\n  x\n", "a: &x 1\nb: *x\n", 'a: "\\n"'])
def test_the_parser_in_python_reads_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(text)
    monkeypatch.setattr(yaml_reader, "_LOADER", yaml.SafeLoader)
    assert read(text) == fast


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("a: 1\na: 2\n", "SPK006", "2:1"),
        ("a:\n\tb: 1\n", "SPK005", "2:1"),
        ("a: [1\n", "SPK004", "1:4"),
        ('a: "\\ud800"\n', "SPK004", "1:4"),
        ('a: "\\U00110000"\n', "SPK004", "1:1"),
        ("- " * 1000, "SPK010", "1:129"),
    ],
)
def test_the_parser_in_python_refuses_the_same(
    text: str, code: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_reader, "_LOADER", yaml.SafeLoader)
    assert only_fault(text)[:2] == (code, f"recipe.yaml:{place}")
