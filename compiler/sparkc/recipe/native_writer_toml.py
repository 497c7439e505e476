"""Native TOML: values first, then one table per mapping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sparkc.recipe.comments import Path, Placed
from sparkc.recipe.native_writer_chars import is_visible
from sparkc.recipe.native_writer_fields import Tree

_SCHEMA = "#:schema ../schemas/recipe.schema.json"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def toml_text(tree: Mapping[str, Tree], comments: Placed) -> str:
    """Return a whole file; no value of ``tree`` is None."""
    tables = {key: value for key, value in tree.items() if _is_table(value)}
    values = {key: value for key, value in tree.items() if key not in tables}
    lines = [_SCHEMA, *comments.before.get((), ()), *_pairs(values, (), comments)]
    for key, value in tables.items():
        lines += ["", *_table(key, value, comments)]
    return "\n".join([*lines, *comments.after.get((), ())]) + "\n"


def _is_table(value: Tree) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))


def _table(key: str, value: Tree, comments: Placed) -> Iterator[str]:
    yield from comments.before.get((key,), ())
    if isinstance(value, dict):
        yield f"[{_key(key)}]{_beside(comments.beside.get((key,)))}"
        yield from _pairs(value, (key,), comments)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            path: Path = (key, index)
            yield from comments.before.get(path, ())
            yield f"[[{_key(key)}]]{_beside(comments.beside.get(path))}"
            yield from _pairs(item, path, comments) if isinstance(item, dict) else ()
            yield from comments.after.get(path, ())
    yield from comments.after.get((key,), ())


def _pairs(values: Mapping[str, Tree], path: Path, comments: Placed) -> Iterator[str]:
    for key, value in values.items():
        own = (*path, key)
        yield from comments.before.get(own, ())
        start, beside = f"{_key(key)} = ", _beside(comments.beside.get(own))
        if isinstance(value, list):
            yield f"{start}[{beside}"
            yield from _items(value, own, comments)
            yield "]"
        elif isinstance(value, dict):
            yield from _inside(own, comments)
            yield f"{start}{_inline(value)}{beside}"
        else:
            yield f"{start}{_leaf(value)}{beside}"
        yield from comments.after.get(own, ())


def _items(items: Iterable[Tree], path: Path, comments: Placed) -> Iterator[str]:
    for index, item in enumerate(items):
        own: Path = (*path, index)
        yield from (f"  {comment}" for comment in comments.before.get(own, ()))
        yield f"  {_leaf(item)},{_beside(comments.beside.get(own))}"
        yield from (f"  {comment}" for comment in comments.after.get(own, ()))


def _inside(path: Path, comments: Placed) -> Iterator[str]:
    """Yield the comments on what stands in an inline table, which has no lines for them."""
    depth = len(path)
    for group in (comments.before, comments.after):
        yield from (text for inner, texts in group.items() if inner[:depth] == path != inner for text in texts)
    yield from (text for inner, text in comments.beside.items() if inner[:depth] == path != inner)


def _inline(value: Mapping[str, Tree]) -> str:
    return "{" + ", ".join(f"{_key(key)} = {_leaf(item)}" for key, item in value.items()) + "}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _basic(key)


def _leaf(value: Tree) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _string(value) if isinstance(value, str) else str(value)


def _string(text: str) -> str:
    """A literal string where a basic one would need escapes, such as for JSON."""
    if is_visible(text) and "'" not in text and ('"' in text or "\\" in text):
        return f"'{text}'"
    if "\n" in text and "'''" not in text and not text.endswith("'") and is_visible(text.replace("\n", "")):
        return f"'''\n{text}'''"
    return _basic(text)


def _basic(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char) or (char if is_visible(char) else _escape(char)) for char in text) + '"'


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _beside(comment: str | None) -> str:
    return "" if comment is None else f"  {comment}"
