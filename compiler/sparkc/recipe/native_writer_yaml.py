"""Native YAML: block style, one argv item per line, quotes only where our reader needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sparkc.recipe.comments import Path, Placed
from sparkc.recipe.native_writer_chars import is_visible
from sparkc.recipe.native_writer_fields import Tree

_SCHEMA = "# yaml-language-server: $schema=../schemas/recipe.schema.json"
_INDENT = "  "
# An indicator starts no plain text, except for these three before anything but a blank.
_PLAIN_START = re.compile(r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]|[-?:][^\s]")
_NOT_PLAIN = re.compile(r":(\s|$)|\s#|^(---|\.\.\.)|^<<$")
_NULL = {"", "~", "null", "Null", "NULL"}
# A key that is certainly no number, boolean or null, which other readers would compare by value.
_KEY = re.compile(r"(?!(?:null|true|false)$)-{0,2}[a-z_][a-z0-9_.-]*(?: [a-z0-9_.-]+)*", re.IGNORECASE)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def yaml_text(tree: Mapping[str, Tree], comments: Placed) -> str:
    """Return a whole file."""
    head = [_SCHEMA, *comments.before.get((), ())]
    lines = [*head, *_mapping(tree, (), "", comments), *comments.after.get((), ())]
    return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    """Return ``text`` as one line of YAML that our reader takes for this text, unquoted where that is possible."""
    if not is_visible(text):
        return _double(text)
    if _PLAIN_START.match(text) and not _NOT_PLAIN.search(text) and text == text.strip() and text not in _NULL:
        return text
    return _double(text) if "'" in text and '"' not in text else "'" + text.replace("'", "''") + "'"


def _mapping(tree: Mapping[str, Tree], path: Path, indent: str, comments: Placed) -> Iterator[str]:
    for key, value in tree.items():
        name = key if _KEY.fullmatch(key) else _quoted_key(key)
        yield from _entry(f"{indent}{name}:", value, (*path, key), indent, comments)


def _quoted_key(key: str) -> str:
    written = scalar(key)
    return written if written[:1] in {"'", '"'} else _double(key)


def _entry(start: str, value: Tree, path: Path, indent: str, comments: Placed) -> Iterator[str]:
    """Yield the lines of one entry; ``start`` is what stands before the value."""
    yield from _full_lines(comments.before.get(path, ()), indent)
    beside = comments.beside.get(path)
    if isinstance(value, dict | list):
        yield start + _beside(beside)
        inner = indent + _INDENT
        yield from (
            _mapping(value, path, inner, comments) if isinstance(value, dict) else _items(value, path, inner, comments)
        )
    elif isinstance(value, str) and (block := _block(value, indent + _INDENT)) is not None:
        header, *lines = block
        yield f"{start} {header}{_beside(beside)}"
        yield from lines
    else:
        yield f"{start} {_leaf(value, path)}{_beside(beside)}"
    yield from _full_lines(comments.after.get(path, ()), indent)


def _items(items: Iterable[Tree], path: Path, indent: str, comments: Placed) -> Iterator[str]:
    for index, item in enumerate(items):
        own: Path = (*path, index)
        if not isinstance(item, dict):
            yield from _entry(f"{indent}-", item, own, indent, comments)
            continue
        yield from _full_lines(comments.before.get(own, ()), indent)
        first, *rest = _mapping(item, own, indent + _INDENT, comments)
        yield f"{indent}- {first.lstrip()}{_beside(comments.beside.get(own))}"
        yield from rest
        yield from _full_lines(comments.after.get(own, ()), indent)


def _leaf(value: str | bool | int | None, path: Path) -> str:
    if isinstance(value, str):
        # The one key where a boolean and its text differ.
        return f"'{value}'" if path == ("earlyoom",) and value.lower() in {"true", "false"} else scalar(value)
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _block(text: str, indent: str) -> list[str] | None:
    """Return a text of several lines as a block literal, or None when quotes are needed after all."""
    body = text.removesuffix("\n")
    lines = body.split("\n")
    plain = all(is_visible(line.replace("\t", "")) for line in lines)
    if "\n" not in body or not plain or not lines[-1].strip() or not lines[0] or lines[0][0] in " \t":
        return None
    if any(line and not line.strip() for line in lines):  # a line of blanks alone
        return None
    return ["|" if text.endswith("\n") else "|-", *(f"{indent}{line}" if line else "" for line in lines)]


def _double(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char) or (char if is_visible(char) else _escape(char)) for char in text) + '"'


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _full_lines(comments: Iterable[str], indent: str) -> Iterator[str]:
    return (f"{indent}{comment}" for comment in comments)


def _beside(comment: str | None) -> str:
    return "" if comment is None else f"  {comment}"
