"""Typed access to one mapping of a document. Every value keeps its origin, every fault is a diagnostic.

All readers of keys (dialects, inventory, mods) go through here, so that "port must be a whole number" is
checked and worded once. Text is always the text that was typed: ``NO``, ``0123`` and ``24.10`` reach the
container as they stand in the file.
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkc.diagnostics.model import Diagnostic, Report, Severity
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.patterns import pattern
from sparkc.reading.node import Mapping, Node, Scalar, Sequence
from sparkc.reading.source import Span
from sparkc.traced import Traced, from_file

# Digit groups as in 131_072 are common in recipes; YAML 1.2 calls that a string, its author means a number.
_DECIMAL = pattern(r"[-+]?[0-9]+(_[0-9]+)*")
_LEADING_ZERO = pattern(r"[-+]?0[0-9_]")
# Longer than any count, size or port; also below the 4300 digits at which int() itself gives up.
_MAX_DIGITS = 30

_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}
_LENIENT_TRUE = {"true", "yes", "on"}
_LENIENT_FALSE = {"false", "no", "off"}


class Fields:
    """One mapping, its key path ("" at the root), and the report that takes the faults.

    A key whose value is null counts as absent everywhere except in :meth:`text_map`.
    ``lenient`` reads foreign dialects, whose authors had YAML 1.1 in mind: yes/no/on/off are booleans
    there, and an empty list may stand where a mapping is meant.
    """

    def __init__(self, mapping: Mapping, path: str, report: Report, *, lenient: bool = False) -> None:
        self.mapping = mapping
        self.path = path
        self.report = report
        self.lenient = lenient

    def key_path(self, key: str) -> str:
        """Return the full path of ``key``, e.g. ``env.NCCL_DEBUG``."""
        return f"{self.path}.{key}" if self.path else key

    def node(self, key: str) -> Node | None:
        """Return the value of ``key``; None when it is absent or null."""
        node = self.mapping.get(key)
        return None if isinstance(node, Scalar) and node.is_null else node

    def span(self, key: str) -> Span | None:
        """Return the place of the key itself, or None when it is absent."""
        return next((entry.key.span for entry in self.mapping.entries if entry.key.text == key), None)

    def text(self, key: str) -> Traced[str] | None:
        """Return a scalar's text as typed."""
        node = self.node(key)
        return None if node is None else self._text(node, self.key_path(key))

    def integer(self, key: str, minimum: int | None = None, maximum: int | None = None) -> Traced[int] | None:
        """Return a decimal integer between ``minimum`` and ``maximum`` (both included); 131_072 is 131072."""
        traced = self.text(key)
        if traced is None:
            return None
        number = self._decimal(traced, key)
        if number is None:
            return None
        if (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
            self.report.error(
                "SPK023",
                f"{self.key_path(key)} is {number}, but must be {_range(minimum, maximum)}",
                traced.origin.span,
                hint=f"write a number that is {_range(minimum, maximum)}",
            )
            return None
        return traced.with_value(number)

    def boolean(self, key: str) -> Traced[bool] | None:
        """Return true or false."""
        node = self.node(key)
        if node is None:
            return None
        path = self.key_path(key)
        traced = self._text(node, path)
        if traced is None:
            return None
        text = traced.value
        if self.lenient and text.lower() in _LENIENT_TRUE | _LENIENT_FALSE:
            return traced.with_value(text.lower() in _LENIENT_TRUE)
        if isinstance(node, Scalar) and node.style != "quoted" and text in _TRUE | _FALSE:
            return traced.with_value(text in _TRUE)
        meant = text.lower() if text.lower() in _LENIENT_TRUE | _LENIENT_FALSE else None
        wanted = "true or false" if meant is None else "true" if meant in _LENIENT_TRUE else "false"
        self.report.error(
            "SPK024",
            f"{path} must be true or false, not {_shown(node)}",
            node.span,
            hint=f"write {key}: {wanted}, without quotes" if meant else f"write {wanted}",
        )
        return None

    def texts(self, key: str) -> tuple[Traced[str], ...]:
        """Return a list of scalars as typed; an absent key is an empty list."""
        texts = []
        for path, item in self._list(key):
            if isinstance(item, Scalar) and item.is_null:
                self.report.error(
                    "SPK025",
                    f"{path} is {item.text or 'empty'}, which YAML reads as null",
                    item.span,
                    hint=f'write "{item.text}" in quotes if the text is meant, else remove the item',
                )
                continue
            traced = self._string(item, path)
            if traced is not None:
                texts.append(traced)
        return tuple(texts)

    def text_map(self, key: str) -> dict[str, Traced[str | None]]:
        """Return a mapping of scalars as typed, in source order; a null value is None."""
        fields = self.fields(key)
        result: dict[str, Traced[str | None]] = {}
        for entry in fields.mapping.entries if fields else ():
            name = entry.key.text
            path = f"{self.key_path(key)}.{name}"
            if isinstance(entry.value, Scalar) and entry.value.is_null:
                result[name] = Traced(None, from_file(entry.key.span, path))
            elif (traced := self._string(entry.value, path)) is not None:
                result[name] = Traced(traced.value, traced.origin)
        return result

    def fields(self, key: str) -> Fields | None:
        """Return the mapping under ``key``."""
        node = self.node(key)
        if node is None or (self.lenient and isinstance(node, Sequence) and not node.items):
            return None
        return self._fields(node, self.key_path(key))

    def items(self, key: str) -> tuple[Fields, ...]:
        """Return a list of mappings; an absent key is an empty list."""
        found = (self._fields(item, path) for path, item in self._list(key))
        return tuple(fields for fields in found if fields is not None)

    def unknown(self, known: Iterable[str], *, severity: Severity) -> None:
        """Report every key that is not in ``known``."""
        names = list(known)
        for entry in self.mapping.entries:
            if entry.key.text in names:
                continue
            path = self.key_path(entry.key.text)
            hint = did_you_mean(entry.key.text, names) or f"known keys: {', '.join(sorted(names))}"
            self.report.add(Diagnostic("SPK020", severity, f"unknown key {path!r}", entry.key.span, hint))

    def _list(self, key: str) -> list[tuple[str, Node]]:
        node = self.node(key)
        if node is None:
            return []
        path = self.key_path(key)
        if not isinstance(node, Sequence):
            hint = f"write {key}: [{node.text}]" if isinstance(node, Scalar) else "write one item per line after '- '"
            self._wrong(node, path, "a list", hint)
            return []
        return [(f"{path}[{index}]", item) for index, item in enumerate(node.items)]

    def _fields(self, node: Node, path: str) -> Fields | None:
        if not isinstance(node, Mapping):
            self._wrong(node, path, "a mapping", "write one 'key: value' per line, indented below it")
            return None
        return Fields(node, path, self.report, lenient=self.lenient)

    def _text(self, node: Node, path: str) -> Traced[str] | None:
        if not isinstance(node, Scalar):
            self._wrong(node, path, "a single value", "write one value; quote it if it holds braces or brackets")
            return None
        return Traced(node.text, from_file(node.span, path))

    def _string(self, node: Node, path: str) -> Traced[str] | None:
        """Like ``_text``, where the engine takes strings: TOML's typed values would be rewritten by other tools."""
        if isinstance(node, Scalar) and node.style == "typed":
            self.report.error(
                "SPK026",
                f"{path} must be a string, but {node.text} without quotes is not one in TOML",
                node.span,
                hint=f'quote it: "{node.text}"',
            )
            return None
        return self._text(node, path)

    def _decimal(self, traced: Traced[str], key: str) -> int | None:
        text = traced.value
        path = self.key_path(key)
        if not _DECIMAL.fullmatch(text) or len(text) > _MAX_DIGITS:
            message = f"{path} must be a whole decimal number, not {_quote(text)}"
            hint = "write digits only, such as 131072"
        elif _LEADING_ZERO.match(text):
            message = f"{path} has a leading zero: {_quote(text)} is octal to some readers and decimal to others"
            hint = f"write {int(text.replace('_', ''))}"
        else:
            return int(text.replace("_", ""))
        self.report.error("SPK022", message, traced.origin.span, hint=hint)
        return None

    def _wrong(self, node: Node, path: str, wanted: str, hint: str) -> None:
        self.report.error("SPK021", f"{path} must be {wanted}, not {_shown(node)}", node.span, hint=hint)


def _shown(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a mapping"
    return "a list" if isinstance(node, Sequence) else _quote(node.text)


def _quote(text: str) -> str:
    shown = repr(text if len(text) <= 60 else f"{text[:57]}...")
    return shown if shown[0] == '"' else f'"{shown[1:-1]}"'


def _range(minimum: int | None, maximum: int | None) -> str:
    if minimum is None:
        return f"at most {maximum}"
    return f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
