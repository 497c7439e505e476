"""What a bundle depends on but does not contain: the image and the models, and whether they can move."""

from __future__ import annotations

import json
import re

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.patterns import pattern
from sparkc.planning.secret_shapes import looks_secret
from sparkc.reading.source import CATALOGUE
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced

_DIGEST = pattern(r".+@sha256:[0-9a-f]{64}")
_COMMIT = pattern(r"[0-9a-f]{40}")
_SNAPSHOT = pattern(r"/snapshots/([0-9a-f]{40})(?:/|$)")
_HUB_ID = pattern(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SERVERS = ("serve", "trtllm-serve")  # the word before the model
_SPECULATIVE = ("--speculative-config", "-sc")


def check_image(image: Traced[str], report: Report) -> None:
    """Warn when the image is not named by digest; refuse what no image reference can be."""
    reference = image.value
    if looks_secret(reference):
        return  # refused elsewhere, by a message that does not repeat it
    if not reference or re.search(r"[\s\x00-\x1f]", reference) or reference.startswith("-"):
        report.error(
            "SPK360",
            f"{reference!r} is not an image reference",
            image.origin.span,
            hint="write name:tag or name@sha256:…",
        )
    elif not _DIGEST.fullmatch(reference):
        name, _, tag = reference.rpartition("/")[2].partition(":")
        moving = f"{name} has no tag, so it means :latest" if not tag else f"the tag {tag} can move"
        pinned = f"{reference.removesuffix(f':{tag}') if tag else reference}@sha256:…"
        if image.origin.span is None:
            remedy = f"give --image {pinned}"
        elif _is_ours(image):
            remedy = f"compile with --image {pinned}, or write it into a copy of the recipe"
        else:
            remedy = f"write {pinned} there, or compile with --image {pinned}"
        report.warning(
            "SPK361",
            f"image {reference} is not pinned: {moving}, and an unchanged bundle would start something else",
            image.origin.span,
            hint=f"{remedy}; `docker image inspect --format '{{{{.RepoDigests}}}}' {reference}` shows the digest",
        )


def _is_ours(value: Traced[str]) -> bool:
    """Return whether ``value`` stands in a recipe of our catalogue, which the user cannot edit."""
    return value.origin.span is not None and value.origin.span.source.name.startswith(CATALOGUE)


def models(recipe: Recipe, words: Words) -> tuple[Traced[str], ...]:
    """Return every model that the ranks load: the served one, then a draft named in ``--speculative-config``.

    ``parent_model`` is the identity of a model that is given as a path. A command that the recipe does not
    explain is searched for the model after ``serve``.
    """
    main = recipe.parent_model or recipe.model or _served(words)
    draft = _draft(words)
    return tuple(model for model in (main, draft) if model is not None)


def check_models(recipe: Recipe, found: tuple[Traced[str], ...], words: Words, report: Report) -> None:
    """Warn about a Hub model without a pinned revision."""
    if not found or not _HUB_ID.fullmatch(found[0].value):
        return
    pinned = revision(recipe, words)
    if pinned is None:
        report.warning(
            "SPK362",
            f"model {found[0].value} has no pinned revision",
            found[0].origin.span,
            hint="add the 40-hex revision of the snapshot that you tested"
            + (" to a copy of the recipe" if _is_ours(found[0]) else ""),
        )
    elif not _COMMIT.fullmatch(pinned.value):
        report.warning(
            "SPK362",
            f"revision {pinned.value!r} of {found[0].value} can move",
            pinned.origin.span,
            hint="write the commit's 40 hex digits",
        )


def revision(recipe: Recipe, words: Words) -> Traced[str] | None:
    """Return the served model's revision: the recipe's, the command's, or the snapshot that the model's path names."""
    stated = recipe.revision or arguments.last_value(words, ("--revision",))
    if stated is not None or recipe.model is None:
        return stated
    snapshot = _SNAPSHOT.search(recipe.model.value)
    return None if snapshot is None else recipe.model.with_value(snapshot[1])


def _served(words: Words) -> Traced[str] | None:
    for index, word in enumerate(words[:-1]):
        following = words[index + 1]
        if word.value.rpartition("/")[2] in _SERVERS and not following.value.startswith("-"):
            return following
    return arguments.last_value(words, ("--model", "--model-path", "--hf-repo", "-hf"))


def _draft(words: Words) -> Traced[str] | None:
    text = arguments.last_value(words, _SPECULATIVE)
    if text is None:
        return None
    try:
        config = json.loads(text.value)
    except (ValueError, RecursionError):
        return None
    model = config.get("model") if isinstance(config, dict) else None
    return text.with_value(model) if isinstance(model, str) and model else None
