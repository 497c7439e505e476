"""A command line becomes a native recipe."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.recipe.native_writer_yaml import scalar


def recipe_text(name: str, image: str, words: Sequence[str]) -> str:
    """Return a native recipe that runs ``words``: engine vllm for ``vllm serve MODEL …``, else plain."""
    lines = [
        "# yaml-language-server: $schema=../schemas/recipe.schema.json",
        "sparkc: 1",
        f"name: {scalar(name)}",
    ]
    serves = list(words[:2]) == ["vllm", "serve"] and len(words) > 2 and not words[2].startswith("-")
    lines += ["engine: vllm" if serves else "engine: plain", f"image: {scalar(image)}"]
    if serves:
        lines.append(f"model: {scalar(words[2])}")
    items = words[3:] if serves else words
    if items:
        lines.append("args:" if serves else "command:")
        lines += [f"  - {scalar(item)}" for item in items]
    return "\n".join(lines) + "\n"
