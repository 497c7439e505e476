"""Is a written native recipe one that sparkc reads? What a foreign dialect allows and native does not shows here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkc.diagnostics import Report, Severity
from sparkc.reading.node import Mapping as MappingNode
from sparkc.reading.node import Node, Sequence
from sparkc.reading.read import read_document
from sparkc.reading.source import Span
from sparkc.recipe import native
from sparkc.recipe.comments import Path


def check_readable(name: str, text: str, places: Mapping[Path, Span], report: Report) -> bool:
    """Report, at its place in the source, each value that the native format refuses; return whether there is none.

    ``places`` says where in the source each native value came from.
    """
    own = Report()
    document = read_document(name, text.encode(), own)
    paths: dict[int, Path] = {}
    if document is not None:
        native.read(document, own)
        paths = dict(_paths(document.root, ()))
    for found in own.diagnostics:
        if found.severity is Severity.ERROR:
            path = paths.get(found.span.line, ()) if found.span is not None else ()
            place = next((places[path[:end]] for end in range(len(path), 0, -1) if path[:end] in places), None)
            report.error(
                "SPK160",
                f"a native recipe does not take this: {found.message}",
                place,
                hint="change it in this file and convert again, or compile this file as it is",
            )
    return not own.failed


def _paths(node: Node, path: Path) -> Iterator[tuple[int, Path]]:
    """Yield the line and the path of every value, the inner ones later."""
    yield node.span.line, path
    if isinstance(node, MappingNode):
        for entry in node.entries:
            yield entry.key.span.line, (*path, entry.key.text)
            yield from _paths(entry.value, (*path, entry.key.text))
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from _paths(item, (*path, index))
