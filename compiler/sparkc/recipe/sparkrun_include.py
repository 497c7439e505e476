"""``include:`` of sparkrun: a recipe as a small difference to another file in the same folder.

Mappings merge key by key, an explicit null removes the inherited key, everything else replaces. One value of
``defaults`` or ``env`` is one setting, so a mapping there replaces too; ``overrides`` are appended.
"""

from __future__ import annotations

from collections.abc import Callable

from sparkc.diagnostics import Report
from sparkc.patterns import pattern
from sparkc.reading.node import Document, Entry, Mapping, Node, Scalar, Sequence
from sparkc.reading.read import read_document

ReadSibling = Callable[[str], "bytes | None"]
"""Return the bytes of a file beside the recipe, None when there is none of that name."""

# sparkrun's limit.
_MAX_DEPTH = 8
_SUFFIXES = (".yaml", ".yml")
_NAME = pattern(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
_ATOMIC = frozenset({"defaults", "env"})


def with_includes(document: Document, read_sibling: ReadSibling | None, report: Report) -> Document | None:
    """Return the document merged over what it includes, itself without ``include``; None after an error."""
    root = _resolve(document, read_sibling, (document.source.name,), report)
    return None if root is None else Document(document.source, root, document.format)


def _resolve(
    document: Document, read_sibling: ReadSibling | None, chain: tuple[str, ...], report: Report
) -> Mapping | None:
    reference = document.root.get("include")
    if reference is None or (isinstance(reference, Scalar) and reference.is_null):
        return document.root
    base = _read(reference, read_sibling, chain, report)
    if base is None:
        return None
    root = _resolve(base, read_sibling, (*chain, base.source.name), report)
    return None if root is None else _over(root, document.root)


def _read(reference: Node, read_sibling: ReadSibling | None, chain: tuple[str, ...], report: Report) -> Document | None:
    fault = _fault(reference, chain)
    folder = chain[0].rpartition("/")[0]
    name = reference.text if isinstance(reference, Scalar) else ""
    for candidate in [name] if name.endswith(_SUFFIXES) else [f"{name}{suffix}" for suffix in _SUFFIXES]:
        path = f"{folder}/{candidate}" if folder else candidate
        if fault is None and path in chain:
            fault = f"{path} includes itself: {' → '.join((*chain, path))}", "remove one include"
        data = read_sibling(candidate) if read_sibling is not None and fault is None else None
        if data is not None:
            return read_document(path, data, report)
    message, hint = fault or (f"there is no recipe {name!r} in this folder", "put it there, or correct the name")
    report.error("SPK137", message, reference.span, hint=hint)
    return None


def _fault(reference: Node, chain: tuple[str, ...]) -> tuple[str, str] | None:
    """Return what is wrong with the reference itself, and the remedy."""
    if not isinstance(reference, Scalar):
        return "include takes the name of one file", "write include: other-recipe"
    name = reference.text
    if name.startswith("@"):
        return (
            f"{name} lies in a registry, and sparkc reads files only",
            "save that recipe beside this one and include it by its file's name",
        )
    if _NAME.fullmatch(name) is None:
        return f"include {name!r} is not the name of a file in the same folder", "write include: other-recipe"
    if len(chain) > _MAX_DEPTH:
        return f"more than {_MAX_DEPTH} recipes include one another", "write the settings into one of them"
    return None


def _over(base: Mapping, outer: Mapping) -> Mapping:
    merged = {entry.key.text: entry for entry in base.entries}
    for entry in outer.entries:
        key, earlier = entry.key.text, merged.get(entry.key.text)
        if key == "include":
            continue
        if earlier is None or not (isinstance(entry.value, Sequence) and key == "overrides"):
            _lay(merged, entry, atomic=key in _ATOMIC)
        elif isinstance(earlier.value, Sequence):
            merged[key] = Entry(entry.key, Sequence((*earlier.value.items, *entry.value.items), entry.value.span))
    merged.pop("include", None)
    return Mapping(tuple(merged.values()), outer.span)


def _lay(merged: dict[str, Entry], entry: Entry, *, atomic: bool, depth: int = 0) -> None:
    """Put one entry over what was inherited. ``atomic``: the values below are single settings."""
    key, earlier = entry.key.text, merged.get(entry.key.text)
    if isinstance(entry.value, Scalar) and entry.value.is_null:
        merged.pop(key, None)
    elif (
        isinstance(entry.value, Mapping)
        and earlier is not None
        and isinstance(earlier.value, Mapping)
        and not (atomic and depth)
    ):
        inner = {item.key.text: item for item in earlier.value.entries}
        for item in entry.value.entries:
            _lay(inner, item, atomic=atomic, depth=depth + 1)
        merged[key] = Entry(entry.key, Mapping(tuple(inner.values()), entry.value.span))
    else:
        merged[key] = entry
