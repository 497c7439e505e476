"""Flags that a command line gives twice: legal, and nearly always a merge accident."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkc.diagnostics import Related, Report
from sparkc.engines.arguments import flag_name
from sparkc.recipe.model import Text, Word

_FLAG = re.compile(r"--?[A-Za-z]")
# Options that collect one value per use (argparse's "append").
_COLLECTING = frozenset({"--middleware"})


def check_doubled(words: Sequence[Word], report: Report) -> None:
    """Warn once for every flag that occurs more than once; the words stay as written and the last one counts."""
    texts = [_text(word) for word in words]
    places: dict[str, list[int]] = {}
    for index, text in enumerate(texts):
        name = flag_name(text) if _FLAG.match(text) else None
        if name is not None and name not in _COLLECTING:
            places.setdefault(name, []).append(index)
    for name, indices in places.items():
        if len(indices) < 2:
            continue
        values = [_value(texts, index) for index in indices]
        differ = len(set(values)) > 1
        detail = f"with different values, of which the last one counts: {_shown(values[-1])}" if differ else "alike"
        *others, last = (words[index].origin.span for index in indices)
        report.warning(
            "SPK127",
            f"{name} is given {len(indices)} times, {detail}",
            last,
            hint="keep the one that is meant" if differ else "remove the repetition",
            related=[
                Related(f"also given here: {_shown(value)}" if differ else "also given here", span)
                for span, value in zip(others, values, strict=False)
                if span is not None
            ],
        )


def _text(word: Word) -> str:
    return "".join(part.text if isinstance(part, Text) else f"{{{part.name}}}" for part in word.parts)


def _value(texts: Sequence[str], index: int) -> str | None:
    if "=" in texts[index]:
        return texts[index].partition("=")[2]
    following = texts[index + 1] if index + 1 < len(texts) else None
    return None if following is None or _FLAG.match(following) else following


def _shown(value: str | None) -> str:
    if value is None:
        return "no value"
    return value if len(value) <= 60 else f"{value[:57]}..."
