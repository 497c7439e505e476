"""Diagnostics as GitHub workflow commands, which become annotations on the lines of a pull request.

Format and escaping: https://docs.github.com/actions/reference/workflow-commands-for-github-actions and
https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkc.diagnostics.escape import printable_lines
from sparkc.diagnostics.model import Diagnostic, Severity
from sparkc.diagnostics.summary import summary
from sparkc.reading.source import Span

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Return one command per diagnostic and a plain summary line.

    GitHub shows only the first ten annotations of a kind per step; the summary line tells the whole number.
    """
    found = list(diagnostics)
    if not found:
        return ""
    return "".join(f"{_command(diagnostic)}\n" for diagnostic in found) + f"sparkc: {summary(found)}\n"


def _command(diagnostic: Diagnostic) -> str:
    properties = {**_place(diagnostic.span), "title": diagnostic.code}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = diagnostic.message
    for related in diagnostic.related:
        text += f"\n{related.span}: {related.message}"
    if diagnostic.hint:
        text += f"\nhelp: {diagnostic.hint}"
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_data(text)}"


def _place(span: Span | None) -> dict[str, str]:
    if span is None:
        return {}
    place = {"file": span.source.name, "line": str(span.line)}
    if span.end_line == span.line:
        # GitHub's end column is the last one marked, ours the one after
        return {**place, "col": str(span.column), "endColumn": str(max(span.column, span.end_column - 1))}
    return {**place, "endLine": str(span.end_line)}


def _data(text: str) -> str:
    return "%0A".join(line.replace("%", "%25") for line in printable_lines(text))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
