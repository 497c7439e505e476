"""One way from diagnostics to output, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sparkc.diagnostics.model import Diagnostic
from sparkc.diagnostics.tokens import masked
from sparkc.record import replace

Format = Literal["text", "json", "github"]


def render(diagnostics: Iterable[Diagnostic], format: Format, *, color: bool) -> str:  # noqa: A002 - the flag's name
    """Return the diagnostics in the format of ``--format``; ``color`` matters to text only.

    Access tokens are masked in all of them. Text and GitHub commands are "" without diagnostics; JSON is always a
    whole object.
    """
    shown = [_masked(diagnostic) for diagnostic in diagnostics]
    # each renderer is imported when asked for: a compile without diagnostics pays for none
    if format == "json":
        from sparkc.diagnostics.json_format import render_json

        return render_json(shown)
    if format == "github":
        from sparkc.diagnostics.github import render_github

        return render_github(shown)
    from sparkc.diagnostics.text import render_text

    return render_text(shown, color=color)


def _masked(diagnostic: Diagnostic) -> Diagnostic:
    """A message may repeat what the user wrote where no token belongs; a log keeps it."""
    hint = diagnostic.hint
    return replace(diagnostic, message=masked(diagnostic.message), hint=None if hint is None else masked(hint))
