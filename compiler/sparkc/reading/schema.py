"""Does a document fit its JSON Schema? A prepared validator decides; jsonschema only explains a failure.

Scalars become JSON values by what the schema asks for. Where it asks for a string, any plain scalar keeps its
text: ``24.10`` and ``NO`` are texts there. Where it asks for a number or a boolean, the YAML 1.2 core schema
decides, and 131_072 counts as 131072. Where it allows both a string and a number or boolean, a scalar is the
number or boolean only if that prints back as it was typed (``8000``, ``true``); ``0123``, ``24.10`` and
``1e5`` stay text. Quoted scalars are always strings. Null stays null, so that ``image:`` without a value is
no empty string.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from sparkc import prepared, resources
from sparkc.diagnostics.model import Report
from sparkc.patterns import pattern
from sparkc.reading.node import Document, Mapping, Node, Scalar, Sequence

_GROUPED_INTEGER = pattern(r"[-+]?[0-9]{1,30}(?:_[0-9]{1,30})+")


def validate(document: Document, kind: str, report: Report) -> bool:
    """Check a document against ``schemas/<kind>.schema.json`` and report everything that does not fit.

    ``kind`` is "recipe", "inventory", "mod" or "bundle". Returns True when the document fits.
    """
    text = resources.read_text("schemas", f"{kind}.schema.json")
    schema = _parsed(text)  # needed to convert scalars; the document is no JSON
    value = _convert(document.root, schema, schema)
    validator = prepared.validator(kind, text)
    if validator is not None:
        try:
            validator(value)
        except prepared.Invalid:
            pass
        else:
            return True
    from sparkc.reading.schema_faults import explain  # imports jsonschema, 60 ms that a fitting document need not pay

    return explain(document, value, schema, report)


@cache
def _parsed(schema: str) -> Any:
    return json.loads(schema)


def _convert(node: Node, part: Any, schema: Any) -> Any:
    """Return the JSON value of ``node`` where ``part`` of ``schema`` describes it; depth is bounded by the readers."""
    part = _resolve(part, schema)
    if isinstance(node, Mapping):
        return {entry.key.text: _convert(entry.value, _member(part, entry.key.text), schema) for entry in node.entries}
    if isinstance(node, Sequence):
        return [_convert(item, part.get("items", {}), schema) for item in node.items]
    return _scalar(node, part)


def _resolve(part: Any, schema: Any) -> dict[str, Any]:
    while isinstance(part, dict) and "$ref" in part:
        target = schema
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part if isinstance(part, dict) else {}


def _member(part: dict[str, Any], key: str) -> Any:
    if key in part.get("properties", {}):
        return part["properties"][key]
    patterns = part.get("patternProperties", {})
    found = next((inner for pattern, inner in patterns.items() if re.search(pattern, key)), None)
    return part.get("additionalProperties", {}) if found is None else found


def _scalar(scalar: Scalar, part: dict[str, Any]) -> Any:
    value = scalar.value
    if scalar.style == "quoted" or value is None:
        return value
    declared = part.get("type", [])
    types = {declared} if isinstance(declared, str) else set(declared)
    if "number" in types:
        types.add("integer")
    if types & {"integer", "number"} and _GROUPED_INTEGER.fullmatch(scalar.text):
        value = int(scalar.text.replace("_", ""))
    if "string" not in types:
        return value
    kind = {bool: "boolean", int: "integer", float: "number"}.get(type(value))
    printed = str(value).lower() if isinstance(value, bool) else str(value)
    return value if kind in types and printed == scalar.text else scalar.text
