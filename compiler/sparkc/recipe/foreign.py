"""What the foreign dialects share: required keys, identity from the file's name, environment, unknown programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkc.diagnostics import Report
from sparkc.reading.fields import Fields
from sparkc.reading.source import Source, Span
from sparkc.recipe.model import Argv, Command, EnvValue, Text
from sparkc.traced import Traced, from_file, from_rule


def file_identity(source: Source) -> Traced[str]:
    """Return the file's stem: foreign recipes have titles, not names that could name a folder."""
    stem = source.name.rsplit("/", 1)[-1].rpartition(".")[0]
    return Traced(stem, from_file(Span(source, 1, 1, 1, 1), "file name"))


def plain_engine(command: Command, report: Report) -> Traced[str]:
    """Return engine ``plain`` for a program that is no known engine, with a note about what that means."""
    origin = command.words[0].origin if isinstance(command, Argv) else command.origin
    report.note(
        "SPK133",
        "no engine that sparkc knows is recognised in this text: every node runs it as it stands, without rank flags",
        origin.span,
        hint="nothing to do on one node; for vLLM on several, call `vllm serve …`",
    )
    return Traced("plain", from_rule("unknown program", "the command is not one of a known engine"))


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
