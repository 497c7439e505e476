"""Hints for a name that an engine does not know."""

from __future__ import annotations

from collections.abc import Iterable

from sparkc.diagnostics.suggest import did_you_mean

_FEW = 3


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return a question that names what begins with ``word`` (``cohere`` → ``cohere_command3``), else what is near."""
    known = list(names)
    longer = [name for name in known if name.startswith(word)]
    if 0 < len(longer) <= _FEW:
        return f"did you mean {' or '.join(map(repr, longer))}?"
    return did_you_mean(word, known)
