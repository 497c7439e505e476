"""No text of a document holds a NUL, however it is written."""

import pytest

from sparkc.diagnostics import Report
from sparkc.reading.read import read_document


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("r.yaml", 'description: "a\\0b"\n', (1, 14)),
        ("r.yaml", 'env: {A: "\\x00"}\n', (1, 10)),
        ("r.yaml", 'args: [x, "\\u0000"]\n', (1, 11)),
        ("r.yaml", '"k\\U00000000": v\n', (1, 1)),
        ("r.toml", 'a = "\\u0000"\n', (1, 5)),
    ],
)
def test_an_escaped_nul_is_a_located_error(name, text, place):
    report = Report()

    assert read_document(name, text.encode(), report) is None
    (found,) = report.diagnostics
    assert (found.code, found.span.line, found.span.column) == ("SPK003", *place)


def test_what_only_looks_like_one_is_text():
    document = read_document("r.yaml", b"a: '\\0'\nb: \\x00\n", Report())

    assert [entry.value.text for entry in document.root.entries] == ["\\0", "\\x00"]
