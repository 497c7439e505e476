"""Did-you-mean for keys, recipe names, node names and choices."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate nearest to ``word``, or None when nothing is near enough."""
    import difflib  # only on the way to an error message: 4 ms that a clean compile need not pay

    matches = difflib.get_close_matches(word.lower(), {c.lower(): c for c in candidates}, n=1, cutoff=0.6)
    return next((c for c in candidates if matches and c.lower() == matches[0]), None)


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """Return a hint sentence for an unknown ``word``, or None when nothing is near enough."""
    options = list(candidates)
    best = closest(word, options)
    return f"did you mean {best!r}?" if best is not None else None
