"""Write the field tables of docs/reference from the schemas: ``python docs/generate.py``.

Each page holds a pair of comments; what stands between them is replaced. A test fails when a page is stale.
"""
# ruff: noqa: INP001  # a script beside the pages it writes, not a package

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "docs/reference/recipe.md": "schemas/recipe.schema.json",
    "docs/reference/inventory.md": "schemas/inventory.schema.json",
    "docs/reference/mods.md": "schemas/mod.schema.json",
    "docs/reference/fit.md": "schemas/model.schema.json",
}
_BLOCK = re.compile(r"(<!-- fields from [^ ]+ -->\n).*?(\n<!-- end of fields -->)", re.DOTALL)


def render(page: str) -> str:
    """Return the text that ``page`` (a key of :data:`PAGES`) must have."""
    schema = json.loads((ROOT / PAGES[page]).read_text(encoding="utf-8"))
    rows = ["| key | type | meaning |", "|---|---|---|"]
    rows += [f"| `{key}` | {kind} | {meaning} |" for key, kind, meaning in _rows(schema, schema, "")]
    text = (ROOT / page).read_text(encoding="utf-8")
    return _BLOCK.sub(lambda match: match[1] + "\n".join(rows) + match[2], text)


def _rows(schema: dict[str, Any], root: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield key path, type and meaning of every property, those of nested mappings below their parent."""
    for key, given in schema.get("properties", {}).items():
        field = given
        if "$ref" in given:
            field = root["definitions"][given["$ref"].rpartition("/")[2]]
        name = f"{path}{key}"
        required = " **Required.**" if key in schema.get("required", []) else ""
        meaning = f"{field.get('description', '')}{required}{_example(field)}"
        yield name, _kind(field), meaning.replace("|", "\\|").strip()
        yield from _rows(field, root, f"{name}.")
        yield from _rows(field.get("items", {}), root, f"{name}[].")


def _kind(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " \\| ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    kinds = field.get("type", "any JSON")
    names = {"object": "mapping", "array": "list", "string": "text"}
    return " or ".join(names.get(kind, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _example(field: dict[str, Any]) -> str:
    examples = [f"`{json.dumps(example)}`" for example in field.get("examples", [])]
    return f" For example {' or '.join(examples)}." if examples else ""


if __name__ == "__main__":
    for name in PAGES:
        (ROOT / name).write_text(render(name), encoding="utf-8")
