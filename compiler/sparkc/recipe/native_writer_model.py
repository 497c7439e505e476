"""The served model of a foreign command as a field: model and arguments where that says the same, else the command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sparkc.recipe.model import Argv, Param, Recipe, Text, Word
from sparkc.recipe.native_writer_words import Remark
from sparkc.recipe.word_checks import visible
from sparkc.record import dataclass, replace
from sparkc.traced import Traced

_MODEL = re.compile(r"[^\s-][^\s]*")
_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9._-]+")
_REVISION = re.compile(r"--revision(=.*)?", re.DOTALL)


@dataclass(frozen=True)
class Start:
    """How an engine's command begins where a recipe states only the arguments: its program, then these words."""

    program: tuple[str, ...]
    before_model: tuple[str, ...]


@dataclass(frozen=True)
class _Split:
    """A command in three: the words that start the server, the model that it loads, the arguments after it."""

    program: tuple[str, ...]
    model: Traced[str]
    arguments: tuple[Word, ...]


def with_model(recipe: Recipe, start: Start | None, remark: Remark) -> Recipe:
    """Return a recipe with native words and parameters so that ``model`` is what the engine loads.

    In foreign recipes it is the identity for downloads, which is ``parent_model`` where the two differ. A command of
    another form stays whole; ``model`` then is its identity, and the parameter ``{model}`` has that one value.
    """
    if recipe.arguments_only or not isinstance(recipe.command, Argv):
        return recipe
    words, defaults, identity = recipe.command.words, dict(recipe.defaults), recipe.parent_model or recipe.model
    split = _split(recipe, words, start)
    if split is not None and start is not None:
        defaults.pop("model", None)
        served = recipe.model if recipe.model is not None and recipe.model.value == split.model.value else split.model
        return replace(
            recipe,
            model=served,
            parent_model=_parent(identity, served, remark),
            command=Argv(split.arguments),
            arguments_only=True,
            entrypoint=None if split.program == start.program else Traced(split.program, split.model.origin),
            defaults=defaults,
        )
    if "model" not in defaults or (recipe.model is None and "model" not in _used(words)):
        return recipe
    if recipe.model is not None and ("model" not in _used(words) or defaults["model"].value == recipe.model.value):
        defaults.pop("model")
        return replace(recipe, defaults=defaults)
    return replace(recipe, model=None, parent_model=_parent(identity, None, remark))


def _split(recipe: Recipe, words: Sequence[Word], start: Start | None) -> _Split | None:
    """Return the parts of a command, or None where native fields would say something else."""
    if start is None or recipe.entrypoint is not None:
        return None
    texts = [_fixed(word) for word in words]
    before = list(start.before_model)
    for index, text in enumerate(texts):
        if text is None:
            return None
        at = index + 1 + len(before)
        if text == start.program[-1] and texts[index + 1 : at] == before and at < len(words):
            break
    else:
        return None
    model = _model(words[at], recipe.defaults)
    arguments = tuple(words[at + 1 :])
    if model is None or ("model" in _used(arguments) and recipe.defaults["model"].value != model.value):
        return None
    flagged = any(_REVISION.fullmatch(visible(word)) for word in arguments)
    if recipe.revision is not None and not flagged and not model.value.startswith("/"):
        return None  # the field would add the flag
    return _Split(tuple(text for text in texts[: index + 1] if text is not None), model, arguments)


def _parent(identity: Traced[str] | None, served: Traced[str] | None, remark: Remark) -> Traced[str] | None:
    if identity is None or (served is not None and identity.value == served.value):
        return None
    if _HUB_ID.fullmatch(identity.value):
        return identity
    remark(identity.origin.span, f"the model {identity.value} is not carried over: it is no id on the Hub")
    return None


def _model(word: Word, defaults: Mapping[str, Traced[str]]) -> Traced[str] | None:
    text = _fixed(word)
    if text is None and len(word.parts) == 1 and isinstance(word.parts[0], Param) and word.parts[0].name == "model":
        return defaults["model"] if _MODEL.fullmatch(defaults["model"].value) else None
    return Traced(text, word.origin) if text is not None and _MODEL.fullmatch(text) else None


def _fixed(word: Word) -> str | None:
    """Return the text of a word without placeholders."""
    text = "".join(part.text for part in word.parts if isinstance(part, Text))
    return None if any(isinstance(part, Param) for part in word.parts) else text


def _used(words: Sequence[Word]) -> set[str]:
    return {part.name for word in words for part in word.parts if isinstance(part, Param)}
