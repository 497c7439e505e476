"""A command line becomes a native recipe."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sparkc.bundle.quoting import escape_invisible

# Text that YAML reads as the same string without quotes: the start of a plain flag, path or name.
_PLAIN = re.compile(r"(--?[A-Za-z]|[A-Za-z/])[\w./=-]*")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def recipe_text(name: str, image: str, words: Sequence[str]) -> str:
    """Return a native recipe that runs ``words``: engine vllm for ``vllm serve MODEL …``, else plain.

    JSON arguments stay exact argv items. Braces need no care: a native recipe leaves JSON alone.
    """
    lines = [
        "# yaml-language-server: $schema=../schemas/recipe.schema.json",
        "sparkc: 1",
        f"name: {_scalar(name)}",
    ]
    serves = list(words[:2]) == ["vllm", "serve"] and len(words) > 2 and not words[2].startswith("-")
    lines += ["engine: vllm" if serves else "engine: plain", f"image: {_scalar(image)}"]
    if serves:
        lines.append(f"model: {_scalar(words[2])}")
    items = words[3:] if serves else words
    if items:
        lines.append("args:" if serves else "command:")
        lines += [f"  - {_scalar(item)}" for item in items]
    return "\n".join(lines) + "\n"


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if "\n" not in text and "'" not in text and text.isprintable() and _is_json(text):
        return f"'{text}'"
    return escape_invisible(json.dumps(text, ensure_ascii=False))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return text[:1] in "{["
