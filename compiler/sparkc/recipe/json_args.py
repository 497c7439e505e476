"""``json_args``: typed YAML or TOML to one compact JSON text per flag.

Numbers are not converted: ``0.90`` and ``1e-5`` keep their digits, because an engine may show or hash the text.
"""

from __future__ import annotations

import json

from sparkc.diagnostics import Report
from sparkc.patterns import pattern
from sparkc.reading.fields import Fields
from sparkc.reading.node import Mapping, Node, Scalar
from sparkc.recipe.model import Part, Text, Word
from sparkc.recipe.placeholders import parts_of
from sparkc.record import replace
from sparkc.traced import from_file

_NUMBER = pattern(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def json_words(fields: Fields, key: str) -> tuple[Word, ...]:
    """Return two argv items, flag and JSON, for each entry of the mapping ``key``; absent is none.

    Placeholders stand inside strings only, so a value from ``defaults`` cannot change the JSON's shape.
    """
    section = fields.fields(key)
    words: list[Word] = []
    for entry in section.mapping.entries if section is not None else ():
        flag = entry.key.text
        path = f"{fields.key_path(key)}.{flag}"
        parts: list[Part] = []
        _write(entry.value, path, parts, fields.report)
        words.append(Word((Text(flag),), from_file(entry.key.span, path)))
        words.append(Word(_joined(parts), from_file(entry.value.span, path)))
    return tuple(words)


def json_text(node: Node, path: str, report: Report) -> str:
    """Return the compact JSON of a mapping or list, with its placeholders as they were typed."""
    parts: list[Part] = []
    _write(node, path, parts, report)
    return "".join(part.text if isinstance(part, Text) else f"{{{part.name}}}" for part in parts)


def _write(node: Node, path: str, out: list[Part], report: Report) -> None:
    """Append the JSON of ``node`` to ``out``."""
    if isinstance(node, Scalar):
        _write_scalar(node, path, out, report)
    elif isinstance(node, Mapping):
        out.append(Text("{"))
        for index, entry in enumerate(node.entries):
            out.append(Text(f'{"," if index else ""}"{_escaped(entry.key.text)}":'))
            _write(entry.value, f"{path}.{entry.key.text}", out, report)
        out.append(Text("}"))
    else:
        out.append(Text("["))
        for index, item in enumerate(node.items):
            out.append(Text("," if index else ""))
            _write(item, f"{path}[{index}]", out, report)
        out.append(Text("]"))


def _write_scalar(scalar: Scalar, path: str, out: list[Part], report: Report) -> None:
    literal = _literal(scalar)
    if literal is not None:
        out.append(Text(literal))
        return
    if scalar.style == "typed":
        report.error(
            "SPK157",
            f"{path} is {scalar.text}, which JSON cannot say",
            scalar.span,
            hint=f'write a decimal number, or quote it: "{scalar.text}"',
        )
        return
    out.append(Text('"'))
    parts = parts_of(scalar, "native", report)
    out.extend(Text(_escaped(part.text)) if isinstance(part, Text) else replace(part, context="json") for part in parts)
    out.append(Text('"'))


def _literal(scalar: Scalar) -> str | None:
    """Return a number, boolean or null; None for what is a string in JSON (``007``, ``+5`` and ``.inf`` too)."""
    if scalar.style == "quoted":
        return None
    if scalar.is_null:
        return "null"
    value = scalar.value
    if isinstance(value, bool):
        return "true" if value else "false"
    number = scalar.text.replace("_", "") if scalar.style == "typed" else scalar.text
    return number if _NUMBER.fullmatch(number) else None


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Merge neighbouring texts."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)
