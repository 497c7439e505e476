"""Filling a command's parameters: template words become traced argv words."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.planning.parameters import Parameters
from sparkc.recipe.model import Param, Word
from sparkc.recipe.placeholders import fill, fill_word
from sparkc.traced import Traced


def fill_words(words: tuple[Word, ...], values: Parameters, report: Report) -> Words:
    """Return the argv items of ``words``.

    An item that holds an overridden parameter takes that override's origin and remembers what stood there.
    """
    texts = {name: value.value for name, value in values.items()}
    filled: list[Traced[str]] = []
    for word in words:
        overridden = _overridden(word, values)
        for item in fill_word(word, texts, report):
            if overridden is None:
                filled.append(Traced(item, word.origin))
            else:
                before = {**texts, **_previous(word, values)}
                filled.append(Traced(item, overridden.origin, Traced(fill(word.parts, before), word.origin)))
    return tuple(filled)


def _overridden(word: Word, values: Parameters) -> Traced[str] | None:
    params = [part for part in word.parts if isinstance(part, Param)]
    return next((values[param.name] for param in params if values[param.name].overrode is not None), None)


def _previous(word: Word, values: Parameters) -> dict[str, str]:
    params = [part.name for part in word.parts if isinstance(part, Param)]
    return {name: old.value for name in params if (old := values[name].overrode) is not None}
