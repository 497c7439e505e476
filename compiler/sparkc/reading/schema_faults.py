"""Explains why a document does not fit its schema, at the key or value to mend and in the user's terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

from sparkc.diagnostics.model import Diagnostic, Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.reading.node import Document, Mapping, Node, Scalar, Sequence
from sparkc.reading.source import Span

_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


def explain(document: Document, value: Any, schema: Any, report: Report) -> bool:
    """Report each fault of ``value``, the JSON value of the document; True if there is none."""
    found = Report()
    for error in _Validator(schema).iter_errors(value):
        path = list(error.absolute_path)
        fault = _Fault(error, _shown_path(path), _find(document.root, path))
        explained = (
            _key_name if "propertyNames" in error.absolute_schema_path else _EXPLAIN.get(error.validator, _other)
        )
        explained(fault, found)
    for diagnostic in sorted(found.diagnostics, key=_place):
        report.add(diagnostic)
    return not found.failed


def _pattern_matches(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """Take ``$`` for the end of the text, as JSON Schema means it: Python's also matches before a last line end."""
    if isinstance(instance, str) and not re.search(_END.sub(r"\\Z", pattern), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_END = re.compile(r"(?<!\\)\$")
_Validator = extend(Draft7Validator, {"pattern": _pattern_matches})  # type: ignore[no-untyped-call]


class _Fault:
    """One complaint of jsonschema with the place that it is about."""

    def __init__(self, error: Any, path: str, node: Node) -> None:
        self.error = error
        self.path = path
        self.node = node
        self.limit = error.validator_value

    @property
    def name(self) -> str:
        return self.path or "the document"

    @property
    def span(self) -> Span:
        """The value's place; of a mapping or list only its first character, the rest would hide the point."""
        span = self.node.span
        if isinstance(self.node, Scalar):
            return span
        return Span(span.source, span.line, span.column, span.line, span.column + 1)

    @property
    def shown(self) -> str:
        if isinstance(self.node, Mapping):
            return "a mapping"
        if isinstance(self.node, Sequence):
            return "a list"
        if self.node.is_null:
            return "empty"
        text = self.node.text if len(self.node.text) <= 60 else f"{self.node.text[:57]}..."
        return text if isinstance(self.error.instance, int | float) else repr(text)

    def hint(self, fallback: str) -> str:
        """The schema's own description of the key, which says what to write."""
        return str(self.error.schema.get("description", fallback))

    def child(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def _unknown_keys(fault: _Fault, report: Report) -> None:
    known = list(fault.error.schema.get("properties", {}))
    for entry in fault.node.entries if isinstance(fault.node, Mapping) else ():
        if entry.key.text not in known:
            hint = did_you_mean(entry.key.text, known) or f"known keys: {', '.join(sorted(known))}"
            report.error("SPK020", f"unknown key {fault.child(entry.key.text)!r}", entry.key.span, hint=hint)


def _key_name(fault: _Fault, report: Report) -> None:
    """A key of a free mapping, such as ``env``, whose own form is wrong; the fault's instance is the key."""
    name = str(fault.error.instance)
    entries = fault.node.entries if isinstance(fault.node, Mapping) else ()
    span = next((entry.key.span for entry in entries if entry.key.text == name), fault.span)
    report.error("SPK032", f"{name!r} cannot be a key of {fault.name}", span, hint=fault.hint("use another name"))


def _required(fault: _Fault, report: Report) -> None:
    present = fault.error.instance
    for key in fault.limit:
        # jsonschema gives one fault per missing key and names it only in prose; Report drops the repeats
        if key not in present:
            described = fault.error.schema.get("properties", {}).get(key, {}).get("description")
            hint = f"add {key}: {described}" if described else f"add a line '{key}: ...'"
            report.error("SPK030", f"{fault.name} needs the key {key!r}", fault.span, hint=hint)


def _type(fault: _Fault, report: Report) -> None:
    wanted = [fault.limit] if isinstance(fault.limit, str) else list(fault.limit)
    sentence = " or ".join(_TYPES[name] for name in wanted)
    if isinstance(fault.node, Scalar) and fault.node.is_null and "string" in wanted:
        fallback = 'write "" if no text is meant, else remove the key'
    elif (
        isinstance(fault.node, Scalar) and fault.node.style == "quoted" and {"integer", "number", "boolean"} & {*wanted}
    ):
        fallback = "remove the quotes"
    elif wanted == ["array"] and isinstance(fault.node, Scalar):
        fallback = f"write [{fault.node.text}], or one item per line after '- '"
    else:
        fallback = f"write {sentence}"
    report.error("SPK021", f"{fault.name} must be {sentence}, not {fault.shown}", fault.span, hint=fallback)


def _choice(fault: _Fault, report: Report) -> None:
    choices = [str(choice) for choice in ([fault.limit] if fault.error.validator == "const" else fault.limit)]
    text = fault.node.text if isinstance(fault.node, Scalar) else ""
    listed = ", ".join(choices)
    must = f"must be {listed}" if len(choices) == 1 else f"must be one of {listed}"
    hint = did_you_mean(text, choices) or fault.hint(f"write {choices[0]}")
    report.error("SPK031", f"{fault.name} {must}, not {fault.shown}", fault.span, hint=hint)


def _pattern(fault: _Fault, report: Report) -> None:
    message = f"{fault.name} cannot be {fault.shown}: it has the wrong form"
    report.error("SPK032", message, fault.span, hint=fault.hint(f"write text that matches {fault.limit}"))


def _bound(phrase: str) -> Callable[[_Fault, Report], None]:
    def explain_bound(fault: _Fault, report: Report) -> None:
        message = f"{fault.name} is {fault.shown}, but must be {phrase} {fault.limit}"
        report.error("SPK023", message, fault.span, hint=fault.hint(f"write a number that is {phrase} {fault.limit}"))

    return explain_bound


def _size(phrase: str, unit: str) -> Callable[[_Fault, Report], None]:
    def explain_size(fault: _Fault, report: Report) -> None:
        counted = f"{fault.limit} {unit}{'' if fault.limit == 1 else 's'}"
        message = f"{fault.name} must have {phrase} {counted}"
        report.error("SPK033", message, fault.span, hint=fault.hint(f"write {phrase} {counted}"))

    return explain_size


def _unique(fault: _Fault, report: Report) -> None:
    items = fault.node.items if isinstance(fault.node, Sequence) else ()
    seen: dict[object, Node] = {}
    for index, item in enumerate(items):
        key = item.text if isinstance(item, Scalar) else repr(fault.error.instance[index])
        if key in seen:
            message = f"{fault.name} lists {key!r} twice, first at line {seen[key].span.line}"
            report.error("SPK033", message, item.span, hint="remove one of the two")
        seen.setdefault(key, item)


def _other(fault: _Fault, report: Report) -> None:
    message = f"{fault.name} breaks the rule {fault.error.validator!r} of its schema: {fault.error.message}"
    report.error("SPK033", message, fault.span, hint=fault.hint("see the schema's description of this key"))


_EXPLAIN: dict[str, Callable[[_Fault, Report], None]] = {
    "additionalProperties": _unknown_keys,
    "required": _required,
    "type": _type,
    "enum": _choice,
    "const": _choice,
    "pattern": _pattern,
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "exclusiveMaximum": _bound("less than"),
    "minLength": _size("at least", "character"),
    "maxLength": _size("at most", "character"),
    "minItems": _size("at least", "item"),
    "maxItems": _size("at most", "item"),
    "minProperties": _size("at least", "key"),
    "maxProperties": _size("at most", "key"),
    "uniqueItems": _unique,
}


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.line, span.column) if span else (0, 0)


def _find(node: Node, path: Iterable[str | int]) -> Node:
    for step in path:
        if isinstance(step, int) and isinstance(node, Sequence):
            node = node.items[step]
        elif isinstance(node, Mapping):
            node = node.get(str(step)) or node
    return node


def _shown_path(path: list[str | int]) -> str:
    shown = ""
    for step in path:
        shown += f"[{step}]" if isinstance(step, int) else f".{step}" if shown else step
    return shown
