"""One way from diagnostics to output, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sparkc.diagnostics.model import Diagnostic

Format = Literal["text", "json", "github"]


def render(diagnostics: Iterable[Diagnostic], format: Format, *, color: bool) -> str:  # noqa: A002 - the flag's name
    """Return the diagnostics in the format of ``--format``; ``color`` matters to text only.

    Text and GitHub commands are "" without diagnostics; JSON is always a whole object.
    """
    # each renderer is imported when asked for: a compile without diagnostics pays for none
    if format == "json":
        from sparkc.diagnostics.json_format import render_json

        return render_json(diagnostics)
    if format == "github":
        from sparkc.diagnostics.github import render_github

        return render_github(diagnostics)
    from sparkc.diagnostics.text import render_text

    return render_text(diagnostics, color=color)
