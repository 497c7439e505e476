"""The place of a character of a scalar, proven by reading that place back from the file."""

from __future__ import annotations

import pytest

from sparkc.diagnostics import Report
from sparkc.reading.locate import locate
from sparkc.reading.node import Scalar
from sparkc.reading.read import read_document

EXACT = [
    ("r.yaml", "a: vllm serve {port}\n"),
    ("r.yaml", "a: 'vllm {port}'\n"),
    ("r.yaml", 'a: "日本 {port} \\t end"\n'),
    ("r.yaml", "a: |\n  vllm \\\n    serve\n\n    --port {port}\n"),
    ("r.yaml", "a: |2-\n    vllm {port}\n"),
    ("r.yaml", "b:\n  - |+ # why\n    x\n    y {port}\n\n"),
    ("r.yaml", "a: &x !!str vllm {port}\n"),
    ("r.toml", 'a = "vllm {port}"\n'),
    ("r.toml", "a = 'vllm {port}'\n"),
    ("r.toml", 'a = """\nvllm\n  {port}\n"""\n'),
    ("r.toml", "a = '''x {port}'''\n"),
]


def scalar(name: str, text: str) -> Scalar:
    report = Report()
    document = read_document(name, text.encode(), report)
    assert document is not None, report.diagnostics
    value = document.root.entries[0].value
    found = value if isinstance(value, Scalar) else value.items[0]  # type: ignore[union-attr]
    assert isinstance(found, Scalar)
    return found


@pytest.mark.parametrize(("name", "text"), EXACT)
def test_exact_places(name: str, text: str) -> None:
    value = scalar(name, text)
    span = locate(value, value.text.index("{port}"), len("{port}"))
    line = span.source.line(span.line)
    assert span.line == span.end_line
    assert line[span.column - 1 : span.end_column - 1] == "{port}"


@pytest.mark.parametrize(
    "text",
    ['a: "tab\\t {port}"\n', "a: 'it''s {port}'\n", "a: >\n  folded {port}\n", "a: one\n  two {port}\n"],
)
def test_elsewhere_the_scalars_own_place(text: str) -> None:
    value = scalar("r.yaml", text)
    assert locate(value, value.text.index("{port}"), 6) == value.span


def test_a_range_is_cut_at_its_line_end() -> None:
    span = locate(scalar("r.yaml", "a: |\n  ab\n  cd\n"), 1, 4)
    assert (span.line, span.column, span.end_line, span.end_column) == (2, 4, 2, 5)


def test_a_text_that_looks_like_a_block_header_is_none() -> None:
    value = scalar("r.yaml", "a: '|'\n")
    assert str(locate(value, 0)) == "r.yaml:1:5"
