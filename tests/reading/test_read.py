"""Whatever the bytes are: an answer or located complaints, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.node import Document, Mapping, Node, Sequence
from sparkc.reading.read import decode, read_document
from sparkc.reading.source import Source, Span

YAML_SEED = """\
name: x
env:
  A: &a 'q'
  B: *a
  <<: {C: 1}
list: [1, {b: c}]
text: |
  l1

  l2
q: "\\n" # c
"""
TOML_SEED = 'name = \'x\'\n[env]\nA = "q\\n"\nb.c = [1, {d = 2.5}]\n[[n]]\nt = """\nl1\n"""\n# c\nday = 2026-01-01\n'


def check_span(span: Span, source: Source) -> None:
    lines = source.text.split("\n")
    assert 1 <= span.line <= span.end_line <= len(lines)
    assert 1 <= span.column <= len(lines[span.line - 1]) + 1
    assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1
    assert (span.line, span.column) <= (span.end_line, span.end_column)


def check_node(node: Node, source: Source) -> None:
    check_span(node.span, source)
    if isinstance(node, Mapping):
        for entry in node.entries:
            check_span(entry.key.span, source)
            check_node(entry.value, source)
    elif isinstance(node, Sequence):
        for item in node.items:
            check_node(item, source)


def check(name: str, data: bytes) -> None:
    report = Report()
    document = read_document(name, data, report)
    assert (document is None) == report.failed
    if isinstance(document, Document):
        check_node(document.root, document.source)
    for diagnostic in report.diagnostics:
        assert diagnostic.hint
        assert diagnostic.span is not None
        check_span(diagnostic.span, diagnostic.span.source)


@st.composite
def mutated(draw: st.DrawFn, seed: str) -> bytes:
    text = seed
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        to = draw(st.integers(at, min(len(text), at + 6)))
        text = (
            text[:at] + draw(st.text("\t\n \u00a0\x85\u2028{}[]:,-?&*!|>'\"%@`#\\.=~<é😀ab01", max_size=4)) + text[to:]
        )
    return text.encode()


@pytest.mark.parametrize("name", ["r.yaml", "r.toml"])
@given(data=st.binary(max_size=60))
@example(data=b"\xff\xfea\x00")
@example(data=b"a: \xef\xbb\xbf")
@example(data=b"a: \xc3")
def test_arbitrary_bytes(name: str, data: bytes) -> None:
    check(name, data)


@given(data=mutated(YAML_SEED))
def test_mutated_yaml(data: bytes) -> None:
    check("r.yaml", data)


@given(data=mutated(TOML_SEED))
def test_mutated_toml(data: bytes) -> None:
    check("r.toml", data)


@given(st.text("\t\n \u00a0{}[]:,-?&*!|>'\"%@#\\.=~<éab01\r\x85", max_size=40))
def test_arbitrary_syntax(text: str) -> None:
    check("r.yaml", text.encode())
    check("r.toml", text.encode())


def test_decode_takes_off_bom_and_carriage_returns() -> None:
    source = decode("launch.sh", b"\xef\xbb\xbf#!/bin/bash\r\nvllm serve\r\n", Report())
    assert source is not None
    assert (source.name, source.text) == ("launch.sh", "#!/bin/bash\nvllm serve\n")


@given(st.text("ab\né", max_size=30), st.data())
def test_offset_and_position_are_inverse(text: str, data: st.DataObject) -> None:
    source = Source("x", text)
    offset = data.draw(st.integers(0, len(text)))
    assert source.offset(*source.position(offset)) == offset
