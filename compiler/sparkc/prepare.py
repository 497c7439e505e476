"""Makes ``sparkc/_prepared`` from the schemas and templates: ``python -m sparkc.prepare``.

The build hook runs it for wheels and editable installs. Nothing imports it at run time. Validators made by
fastjsonschema save importing jsonschema (about 60 ms) on every compile that has no fault; compiled templates
save importing jinja2 (about 30 ms).
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from sparkc import prepared, resources
from sparkc.bundle.template_code import template_code

_SUFFIX = ".schema.json"
# fastjsonschema's run-time imports and what takes their place: our own exception, and no decimal module,
# which takes 2 ms to import and no reader makes such numbers
_REPLACED = {
    "from fastjsonschema import JsonSchemaValueException, JsonSchemaValuesException\n": (
        "from sparkc.prepared import Invalid as JsonSchemaValueException\n\n"
        "JsonSchemaValuesException = JsonSchemaValueException\n"
    ),
    "from decimal import Decimal\n": "Decimal = float\n",
}
# its table of patterns, all compiled on import, which took longer than validating
_PATTERN = re.compile(r"^(    '.*'): re\.compile\(('.*')\)", re.MULTILINE)
_PATTERNS = re.compile(r"^REGEX_PATTERNS = \{(.*?\n)\}\n", re.MULTILINE | re.DOTALL)


def prepare() -> Path:
    """Write the folder anew and return it."""
    folder = resources.prepared_folder()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "__init__.py").write_text('"""Made by sparkc.prepare; do not edit."""\n', encoding="utf-8")
    for schema in sorted(resources.folder("schemas").glob(f"*{_SUFFIX}")):
        kind = schema.name.removesuffix(_SUFFIX)
        (folder / f"validate_{kind}.py").write_text(
            validator_code(schema.read_text(encoding="utf-8")), encoding="utf-8"
        )
    templates = resources.folder("templates")
    for path in sorted(templates.rglob("*.j2")):
        name = path.relative_to(templates).as_posix()
        text = resources.read_text("templates", name)
        code = f"{template_code(text, name)}\nFINGERPRINT = {prepared.template_fingerprint(text)!r}\n"
        (folder / f"{prepared.template_module(name)}.py").write_text(code, encoding="utf-8")
    return folder


def validator_code(schema: str) -> str:
    """Return a module that decides whether a document fits ``schema``; it imports nothing but the standard library."""
    from fastjsonschema import compile_to_code  # a build requirement, absent where sparkc only runs

    definition = json.loads(schema)
    definition.pop("$id", None)  # the generated function would be named after it
    # no defaults: a validator that edits what it is shown would make documents differ from their files
    code = compile_to_code(definition, use_default=False, detailed_exceptions=False)
    for foreign, own in _REPLACED.items():
        if foreign not in code:
            raise RuntimeError(f"fastjsonschema's generated code changed: it has no line {foreign.strip()!r}")
        code = code.replace(foreign, own)
    code = _PATTERN.sub(r"\1: \2", code)
    code = _PATTERNS.sub(r"from sparkc.prepared import Patterns\n\nREGEX_PATTERNS = Patterns({\1})\n", code)
    return f"{code}\n\nFINGERPRINT = {prepared.schema_fingerprint(schema)!r}\n"


if __name__ == "__main__":
    prepare()
