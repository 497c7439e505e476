"""What the foreign dialects share: required keys, identity from the file's name, literal environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkc.reading.fields import Fields
from sparkc.reading.node import Document
from sparkc.reading.source import Span
from sparkc.recipe.model import EnvValue, Text
from sparkc.traced import Traced, from_file


def file_identity(document: Document) -> Traced[str]:
    """Return the file's stem: foreign recipes have titles, not names that could name a folder."""
    stem = document.source.name.rsplit("/", 1)[-1].rpartition(".")[0]
    return Traced(stem, from_file(Span(document.source, 1, 1, 1, 1), "file name"))


def has_keys(fields: Fields, keys: Iterable[str]) -> bool:
    """Report every key that is missing or null; return whether all are there."""
    missing = [key for key in keys if fields.node(key) is None]
    for key in missing:
        fields.report.error(
            "SPK030",
            f"required key {fields.key_path(key)!r} is missing",
            fields.span(key) or fields.mapping.span,
            hint=f"add {key}:",
        )
    return not missing


def literal_env(values: Mapping[str, Traced[str | None]]) -> dict[str, Traced[EnvValue]]:
    """Return environment values that hold no placeholders."""
    return {
        key: Traced(None if traced.value is None else (Text(traced.value),), traced.origin)
        for key, traced in values.items()
    }
