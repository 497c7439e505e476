"""A native recipe as text, YAML or TOML, with comments; reading the text gives the recipe again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sparkc.reading.node import Document
from sparkc.recipe.comments import Comment, place
from sparkc.recipe.model import Recipe
from sparkc.recipe.native_writer_fields import native_fields
from sparkc.recipe.native_writer_toml import toml_text
from sparkc.recipe.native_writer_yaml import yaml_text

Format = Literal["yaml", "toml"]


class CannotWrite(Exception):  # noqa: N818 - the user's choice of a format, reported by the caller
    """A value that the chosen format has no notation for; ``path`` is its key path."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def native_text(
    recipe: Recipe, format_: Format, comments: Iterable[Comment] = (), document: Document | None = None
) -> str:
    """Return the text of a native recipe.

    ``comments`` are those of ``recipe.source``, whose ``document`` is None for a launch script; each goes to the
    value that came from its place.

    Raises:
        CannotWrite: TOML cannot say that a variable is absent (null).
    """
    tree, places = native_fields(recipe)
    if format_ == "toml":
        absent = next((f"env.{name}" for name, value in recipe.env.items() if value.value is None), None)
        if absent is not None:
            raise CannotWrite(absent)
    placed = place(comments, places, recipe.source, document)
    return toml_text(tree, placed) if format_ == "toml" else yaml_text(tree, placed)
