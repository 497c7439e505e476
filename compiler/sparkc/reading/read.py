"""The one way from bytes to a document."""

from __future__ import annotations

from collections.abc import Iterator

from sparkc.diagnostics.model import Report
from sparkc.patterns import pattern
from sparkc.reading.node import Document, Mapping, Node, Scalar
from sparkc.reading.source import Source, Span

# How YAML and TOML write a NUL: control characters as such were refused before.
_NUL_ESCAPES = ("\\0", "\\x00", "\\u0000", "\\U00000000")

# The largest recipe seen in the field has 30 kB; a file past this is a model or a log by mistake.
MAX_BYTES = 4 * 1024 * 1024

# A character that YAML 1.2 does not allow in a file at all (its c-printable), a lone carriage return with them.
# Spelled as what is refused, without the surrogates that UTF-8 cannot hold: the full class takes 5 ms to compile.
_UNPRINTABLE = pattern("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]|\ufffe|\uffff")


def decode(name: str, data: bytes, report: Report) -> Source | None:
    """Return the text of a file with LF line ends and without byte order mark, or None after an error.

    ``name`` is the file's name as the user should see it. Refused are bytes that are not UTF-8, control
    characters other than tab and line end, and files over :data:`MAX_BYTES`.
    """
    if len(data) > MAX_BYTES:
        report.error(
            "SPK002",
            f"{name} has {len(data)} bytes; sparkc reads at most {MAX_BYTES}",
            Span(Source(name), 1, 1, 1, 1),
            hint="is this the file you meant?",
        )
        return None
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        _report_encoding(name, data, error.start, report)
        return None
    source = Source(name, text.replace("\r\n", "\n"))
    unprintable = list(_UNPRINTABLE.finditer(source.text))
    for match in unprintable[:_MAX_REPEATS]:
        code = ord(match.group())
        report.error(
            "SPK003",
            f"control character U+{code:04X} in the file",
            source.span(match.start(), match.end()),
            hint=_CONTROL_HINTS.get(code, f'remove it, or write it as "\\u{code:04x}" inside double quotes'),
        )
    return None if unprintable else source


_MAX_REPEATS = 20
_CONTROL_HINTS = {
    0x00: "this is no text file, or it is UTF-16: save it as UTF-8",
    0x0D: "line ends must be LF or CRLF: save the file with one of them",
}


def _report_encoding(name: str, data: bytes, offset: int, report: Report) -> None:
    before = data[:offset].decode("utf-8")
    source = Source(name, before.replace("\r\n", "\n") + data[offset:].decode("utf-8", "replace").split("\n", 1)[0])
    start = len(before.replace("\r\n", "\n"))
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    report.error(
        "SPK001",
        f"{name} is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}",
        source.span(start, start + 1),
        hint="save the file as UTF-8, it is UTF-16" if utf16 else "save the file as UTF-8",
    )


def read_document(name: str, data: bytes, report: Report) -> Document | None:
    """Read YAML, or TOML when ``name`` ends in ``.toml``; None after an error, which is in ``report``."""
    source = decode(name, data, report)
    if source is None:
        return None
    if name.lower().endswith(".toml"):
        from sparkc.reading.toml_reader import read_toml  # a compile reads TOML files only now and then

        document = read_toml(source, report)
    else:
        from sparkc.reading.yaml_reader import read_yaml  # launch scripts and .env files need only decode()

        document = read_yaml(source, report)
    if document is not None and any(escape in source.text for escape in _NUL_ESCAPES):
        holding = [scalar for scalar in _scalars(document.root) if "\0" in scalar.text]
        for scalar in holding:
            report.error(
                "SPK003",
                "an escape stands for NUL, which no argument, variable or path can hold",
                scalar.span,
                hint="remove it",
            )
        return None if holding else document
    return document


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield entry.key
            yield from _scalars(entry.value)
    else:
        for item in node.items:
            yield from _scalars(item)
