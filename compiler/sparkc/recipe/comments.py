"""The comments of a recipe's file, and the place in a native recipe that each of them belongs to.

A comment belongs to what stands below it when it has a line of its own, else to what stands before it on its line.
What is known about the native recipe is where in the source each of its values came from, so places are compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sparkc.reading.locate import locate
from sparkc.reading.node import Document, Node, Scalar
from sparkc.reading.node import Mapping as MappingNode
from sparkc.reading.source import Source, Span
from sparkc.recipe.placeholders import Atom
from sparkc.recipe.shell_lexer import lex
from sparkc.recipe.shell_tokens import Unreadable
from sparkc.record import dataclass, field

# Keys from the root of a native recipe to one of its values: ("args", 3). () is the file as a whole.
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Comment:
    """A comment with its ``#``. ``own_line``: nothing stands before it on its line."""

    text: str
    line: int
    column: int
    own_line: bool = True


@dataclass(frozen=True)
class Placed:
    """Comments by the native value that they belong to; those of () stand at the top and at the end of the file."""

    before: Mapping[Path, Sequence[str]] = field(default_factory=dict)
    beside: Mapping[Path, str] = field(default_factory=dict)
    after: Mapping[Path, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Anchor:
    """Where native values stand in the source: one, or the first and the last of the words that one item became.

    Both are None for what the native recipe does not have.
    """

    line: int
    column: int
    path: Path | None
    last: Path | None


def document_comments(document: Document, *, commands: bool) -> Iterator[Comment]:
    """Yield the comments of a YAML or TOML file; with ``commands`` also the shell's in the text of a ``command``."""
    source = document.source
    texts = sorted(_texts(document.root, source))
    starts = [start for start, _ in texts]
    offset = 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        for column, char in enumerate(line):
            if char != "#" or (document.format == "yaml" and column and line[column - 1] not in " \t"):
                continue
            index = bisect_left(starts, offset + column + 1) - 1
            if index >= 0 and offset + column < texts[index][1]:
                continue
            yield Comment(line[column:].rstrip(), number, column + 1, not line[:column].strip())
            break
        offset += len(line) + 1
    command = document.root.get("command")
    if commands and isinstance(command, Scalar):
        yield from shell_comments(command)


def shell_comments(scalar: Scalar) -> Iterator[Comment]:
    """Yield the comments in shell text; a ``#!`` line is none."""
    text = scalar.text
    try:
        found = lex([Atom(char, offset) for offset, char in enumerate(text)], drop_empty_lines=True).comments
    except Unreadable:
        return
    for start in sorted(index for index in found if index - 1 not in found):
        end = text.find("\n", start)
        comment = text[start : len(text) if end < 0 else end].rstrip()
        before = text[text.rfind("\n", 0, start) + 1 : start]
        if start == 0 and comment.startswith("#!"):
            continue
        span = locate(scalar, start)
        yield Comment(comment, span.line, span.column, not before.strip())


def place(
    comments: Iterable[Comment], places: Mapping[Path, Span], source: Source, document: Document | None
) -> Placed:
    """Return the comments by native value.

    ``places`` says where in the source each native value came from. A comment on something that the native recipe
    does not have goes to the top.
    """
    anchors = sorted(_anchors(places, source, document), key=lambda anchor: (anchor.line, anchor.column))
    positions = [(anchor.line, anchor.column) for anchor in anchors]
    before: dict[Path, list[str]] = {}
    beside: dict[Path, str] = {}
    after: dict[Path, list[str]] = {}
    for comment in sorted(comments, key=lambda comment: (comment.line, comment.column)):
        index = bisect_left(positions, (comment.line, comment.column))
        earlier = anchors[index - 1] if index else None
        later = anchors[index] if index < len(anchors) else None
        if not comment.own_line:
            path = earlier.last if earlier is not None else None
            if path is None or path in beside:
                before.setdefault(path or (), []).append(comment.text)
            else:
                beside[path] = comment.text
        elif earlier is None:
            before.setdefault((), []).append(comment.text)
        elif earlier.last and comment.column > 1 and (later is None or comment.column > later.column):
            # indented deeper than what follows: the last line of what stands above
            after.setdefault(earlier.last, []).append(comment.text)
        elif later is None:
            after.setdefault((), []).append(comment.text)
        else:
            before.setdefault(later.path or (), []).append(comment.text)
    return Placed(before, beside, after)


def _texts(node: Node, source: Source) -> Iterator[tuple[int, int]]:
    """Yield start and end of every scalar in the file; the header line of a YAML block scalar is not part of it."""
    if isinstance(node, Scalar):
        span = node.span
        start, end = source.offset(span.line, span.column), source.offset(span.end_line, span.end_column)
        if source.text[start : start + 1] in ("|", ">"):
            start = min(end, source.text.find("\n", start) + 1)
        if end > start:
            yield start, end
    elif isinstance(node, MappingNode):
        for entry in node.entries:
            yield from _texts(entry.key, source)
            yield from _texts(entry.value, source)
    else:
        for item in node.items:
            yield from _texts(item, source)


def _anchors(places: Mapping[Path, Span], source: Source, document: Document | None) -> Iterator[_Anchor]:
    positions: dict[tuple[int, int], list[Path]] = {}
    for path, span in places.items():
        if span.source.name == source.name:
            positions.setdefault((span.line, span.column), []).append(path)
    keys = [entry.key.span for entry in document.root.entries] if document is not None else []
    ends = [(span.line, span.column) for span in keys[1:]] + [(source.last_line + 1, 1)]
    for key, end in zip(keys, ends, strict=True) if keys else ():
        start = (key.line, key.column)
        inside = Counter(paths[0][:1] for position, paths in positions.items() if start <= position < end)
        # The field that most of the entry became: a command gives the model, and all the arguments.
        most = inside.most_common(1)[0][0] if inside else None
        yield _Anchor(*start, most, most)
    yield from (_Anchor(*position, paths[0], paths[-1]) for position, paths in positions.items())
