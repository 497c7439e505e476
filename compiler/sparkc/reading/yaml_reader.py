"""YAML 1.2 core schema to a document: strict, and with a span on every node.

PyYAML's parser gives events with marks; the tree is built here, because its own composer drops what strict
reading needs: duplicate keys, where an alias stands, and how a scalar was written. The parser itself follows
YAML 1.1 in one point that changes values: it takes U+0085, U+2028 and U+2029 for line ends. They travel
through it as stand-ins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from sparkc.diagnostics.model import Related, Report
from sparkc.patterns import pattern
from sparkc.reading.node import Document, Entry, Mapping, Node, Scalar, Sequence
from sparkc.reading.pasted_space import stray_space
from sparkc.reading.source import Source, Span
from sparkc.record import dataclass, replace

# The parser in C is ten times faster; PyYAML built without libyaml has only the one in Python.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_DEPTH = 64
# Nodes that aliases add to a document when they are written out: far above any inventory, far below harm.
MAX_ALIASED_NODES = 10_000

_FOREIGN_LINE_ENDS = "\x85\u2028\u2029"
_SURROGATE = pattern("[\ud800-\udfff]")
# Anchor and tag before a scalar: PyYAML's marks start at them, ours at the text.
_PROPERTIES = pattern(r"(?:[&!]\S*\s+)+")
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "bool": bool,
    "null": type(None),
}


def read_yaml(source: Source, report: Report) -> Document | None:
    """Return the document, or None after an error; all duplicate keys, tags and aliases are reported at once.

    An unquoted ``<<`` merges mappings as Docker Compose users expect: explicit keys win, then the earlier
    of several merged mappings.
    """
    builder = _Builder(source, report)
    faults = len(report.diagnostics)
    stand_ins = _stand_ins(source.text)
    try:
        for event in _events(source.text.translate(stand_ins)):
            if not builder.take(event):
                break
    except yaml.YAMLError as error:
        from sparkc.reading.yaml_faults import explain  # 2 ms that only a broken file costs

        explain(error, source, report)
    except ValueError:  # the parser in Python: an escape such as "\U00110000" that is no character
        report.error(
            "SPK004",
            "an escape in double quotes is no Unicode character",
            builder.last,
            hint="write a code point up to \\U0010FFFF",
        )
    if any(found.severity.value == "error" for found in report.diagnostics[faults:]):
        return None
    return builder.document()


def _events(text: str) -> Iterator[Any]:
    yield from yaml.parse(text, Loader=_LOADER)


def _stand_ins(text: str) -> dict[int, str]:
    """Return a translation of foreign line ends to private characters that the file does not use, even escaped."""
    present = [char for char in _FOREIGN_LINE_ENDS if char in text]
    lowered = text.lower() if present else ""
    free = (code for code in range(0xE000, 0xF900) if chr(code) not in text and f"{code:x}" not in lowered)
    return {ord(char): chr(code) for char, code in zip(present, free, strict=False)}


class _Open:
    """A collection whose end has not come yet. ``nodes`` and ``height`` count aliases as written out."""

    def __init__(self, event: Any) -> None:
        self.event = event
        self.is_mapping = isinstance(event, yaml.MappingStartEvent)
        self.children: list[Node] = []
        self.entries: list[Entry] = []
        self.key: Node | None = None
        self.nodes = 1
        self.height = 1


@dataclass(frozen=True)
class _Built:
    """A finished node with its written-out size."""

    node: Node
    nodes: int = 1
    height: int = 1


class _Builder:
    """Takes the parser's events one by one; depth lives on ``stack``, so no input exhausts Python's."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Built | None] = {}  # None while the anchored collection is open
        self.root: Node | None = None
        self.documents = 0
        self.aliased = 0
        self.last = Span(source, 1, 1, 1, 1)
        self.originals = {ord(to): chr(char) for char, to in _stand_ins(source.text).items()}

    def take(self, event: Any) -> bool:
        """Handle one event; False means that reading on makes no sense."""
        if isinstance(event, yaml.ScalarEvent):
            self.last = self.span(event)
            self.scalar(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self.close(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self.tag(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = None
            self.stack.append(_Open(event))
            return self.deep_enough(len(self.stack), event)
        elif isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            return self.first_document(event)
        return True

    def document(self) -> Document | None:
        """Return the finished document if its root is a mapping."""
        start = Span(self.source, 1, 1, 1, 1)
        root = self.root
        if root is None or (isinstance(root, Scalar) and root.is_null):
            self.report.error("SPK014", f"{self.source.name} is empty", start, hint="write 'key: value' lines")
            return None
        if not isinstance(root, Mapping):
            what = "a list" if isinstance(root, Sequence) else "a single text"
            line, column = root.span.line, root.span.column
            end = min(column, len(self.source.line(line))) + 1
            self.report.error(
                "SPK013",
                f"{self.source.name} holds {what}, but must be a mapping",
                Span(self.source, line, column, line, end),
                hint="write 'key: value' lines at the left margin; a space must follow each colon",
            )
            return None
        return Document(self.source, root, "yaml")

    def span(self, event: Any) -> Span:
        """Return the event's place. At the end of a file PyYAML's marks may lie past the last line."""
        return Span(self.source, *self.place(event.start_mark), *self.place(event.end_mark))

    def place(self, mark: Any) -> tuple[int, int]:
        line = min(mark.line + 1, self.source.last_line)
        return line, (mark.column if line == mark.line + 1 else len(self.source.line(line))) + 1

    def scalar(self, event: Any) -> None:
        text = event.value.translate(self.originals) if self.originals else event.value
        span = self.last
        plain = not event.style
        if event.anchor is not None or event.tag is not None:
            if plain and not text and event.anchor is not None:
                hint = "write the value after it, or quote it if the text itself is meant"
                self.report.error("SPK008", f"anchor &{event.anchor} has no value", span, hint=hint)
            span = self.after_properties(span)
        if _SURROGATE.search(text):
            message = "an escape in double quotes is no Unicode character"
            self.report.error("SPK004", message, span, hint="write the character itself, or \\U and eight digits")
        scalar = Scalar(text, "plain" if plain else "quoted", span)
        if plain:
            stray_space(scalar, self.report)
        built = _Built(self.tagged(event, scalar))
        if event.anchor is not None:
            self.anchors[event.anchor] = built
        self.add(built)

    def after_properties(self, span: Span) -> Span:
        start = self.source.offset(span.line, span.column)
        match = _PROPERTIES.match(self.source.text, start)
        if match is None or match.end() > self.source.offset(span.end_line, span.end_column):
            return span
        line, column = self.source.position(match.end())
        return replace(span, line=line, column=column)

    def tagged(self, event: Any, scalar: Scalar) -> Scalar:
        """Apply a scalar's tag: ``!!str`` makes text, the other core tags must agree with what is written."""
        if event.tag in (None, "!", f"{_CORE}str"):
            return scalar if event.tag is None else replace(scalar, style="quoted")
        wanted = _SCALAR_TAGS.get(event.tag.removeprefix(_CORE))
        value = scalar.value
        if wanted is None:
            self.tag(event)
        elif not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            message = f"{scalar.text!r} is no {event.tag.removeprefix(_CORE)} as its tag says"
            self.report.error("SPK011", message, scalar.span, hint="remove the tag")
        return scalar

    def tag(self, event: Any) -> None:
        """Refuse a tag that names a type of its own: it would be ignored here and obeyed by other readers."""
        kind = "map" if isinstance(event, yaml.MappingStartEvent) else "seq"
        if event.tag is None or (event.tag == _CORE + kind and not isinstance(event, yaml.ScalarEvent)):
            return
        shown = f"!!{event.tag.removeprefix(_CORE)}" if event.tag.startswith(_CORE) else event.tag
        hint = "remove the tag, or quote the text if the '!' belongs to it"
        self.report.error("SPK011", f"YAML tag {shown} is not supported", self.span(event), hint=hint)

    def alias(self, event: Any) -> bool:
        name = event.anchor
        span = self.span(event)
        built = self.anchors.get(name)
        if built is None:
            reason = "stands inside its own anchor" if name in self.anchors else f"has no anchor &{name} before it"
            hint = f"if the text is meant, quote it: '*{name}'"
            self.report.error("SPK009", f"alias *{name} {reason}", span, hint=hint)
            built = _Built(Scalar("", "plain", span))
        self.aliased += built.nodes
        if self.aliased > MAX_ALIASED_NODES:
            message = f"aliases blow this document up beyond {MAX_ALIASED_NODES} nodes"
            self.report.error("SPK009", message, span, hint="write the values out instead of nesting aliases")
            return False
        if not self.deep_enough(len(self.stack) + built.height - 1, event):
            return False
        is_key = bool(self.stack) and self.stack[-1].is_mapping and self.stack[-1].key is None
        if is_key and isinstance(built.node, Scalar):
            built = replace(built, node=replace(built.node, span=span))
        self.add(built)
        return True

    def deep_enough(self, depth: int, event: Any) -> bool:
        if depth <= MAX_DEPTH:
            return True
        hint = "no sparkc document needs that; quote the text if the brackets belong to a value"
        self.report.error("SPK010", f"nested more than {MAX_DEPTH} levels deep", self.span(event), hint=hint)
        return False

    def first_document(self, event: Any) -> bool:
        self.documents += 1
        if self.documents == 1:
            return True
        hint = "keep one document per file; remove the '---' or move what follows to a file of its own"
        self.report.error("SPK007", "a second document starts here", self.span(event), hint=hint)
        return False

    def add(self, built: _Built) -> None:
        if not self.stack:
            self.root = built.node
            return
        parent = self.stack[-1]
        parent.nodes += built.nodes
        parent.height = max(parent.height, built.height + 1)
        if not parent.is_mapping:
            parent.children.append(built.node)
        elif parent.key is None:
            parent.key = built.node
        else:
            if isinstance(parent.key, Scalar) and not (parent.key.style == "plain" and not parent.key.text):
                parent.entries.append(Entry(parent.key, built.node))
            else:
                what = {Mapping: "a mapping", Sequence: "a list"}.get(type(parent.key), "empty")
                hint = "write a name before the colon; a value in braces, such as {port}, needs quotes"
                self.report.error("SPK012", f"a key must be a name, but this one is {what}", parent.key.span, hint=hint)
            parent.key = None

    def close(self, event: Any) -> None:
        done = self.stack.pop()
        start = self.span(done.event)
        end = self.span(event)
        last: Node | None = done.children[-1] if done.children else done.entries[-1].value if done.entries else None
        if not done.event.flow_style and last is not None and last.span.line >= start.line:
            # PyYAML ends a block where the next token starts, lines below it
            end = last.span
        span = Span(self.source, start.line, start.column, end.end_line, end.end_column)
        if done.is_mapping:
            self.duplicates(done.entries)
            node: Node = Mapping(tuple(self.merged(done.entries)), span)
        else:
            node = Sequence(tuple(done.children), span)
        built = _Built(node, done.nodes, done.height)
        if done.event.anchor is not None:
            self.anchors[done.event.anchor] = built
        self.add(built)

    def duplicates(self, entries: list[Entry]) -> None:
        """Report keys equal as text, or equal as core-schema values: ``1`` and ``01`` are one key elsewhere."""
        seen: dict[object, Scalar] = {}
        for key in (entry.key for entry in entries):
            value = key.value
            identity = key.text if isinstance(value, str) else (type(value), value)
            first = seen.get(key.text) or seen.get(identity)
            if first is None:
                seen[key.text] = seen[identity] = key
                continue
            same = "" if first.text == key.text else f" (the same value as {first.text!r})"
            self.report.error(
                "SPK006",
                f"duplicate key {key.text!r}{same}, first defined at line {first.span.line}",
                key.span,
                hint="remove one of the two",
                related=[Related(f"{first.text!r} is first defined here", first.span)],
            )

    def merged(self, entries: list[Entry]) -> Iterator[Entry]:
        taken = {entry.key.text for entry in entries}
        for entry in entries:
            if entry.key.text != "<<" or entry.key.style != "plain":
                yield entry
                continue
            sources = entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)
            for merged in sources:
                if not isinstance(merged, Mapping):
                    hint = 'write <<: *name with the anchor of a mapping; quote "<<" if the text is meant as a key'
                    self.report.error("SPK016", "<< can merge only mappings", entry.key.span, hint=hint)
                    break
                fresh = [inner for inner in merged.entries if inner.key.text not in taken]
                taken.update(inner.key.text for inner in fresh)
                yield from fresh
