"""Schema validation: how scalars become values, and what is said about a document that does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from sparkc import prepared, resources
from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.reading.schema import validate

SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "additionalProperties": False,
    "required": ["name"],
    "definitions": {"port": {"description": "A TCP port.", "type": "integer", "minimum": 1, "maximum": 65535}},
    "properties": {
        "name": {"description": "Lower-case letters only.", "type": "string", "pattern": "^[a-z]+$"},
        "version": {"type": "string"},
        "port": {"$ref": "#/definitions/port"},
        "ratio": {"type": "number", "exclusiveMinimum": 0},
        "flag": {"type": "boolean"},
        "either": {"type": ["string", "boolean", "integer"]},
        "maybe": {"type": ["string", "null"]},
        "engine": {"enum": ["vllm", "sglang"]},
        "args": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": True},
        "env": {
            "type": "object",
            "propertyNames": {"pattern": "^[A-Z_]+$"},
            "additionalProperties": {"type": "string"},
        },
        "inner": {"type": "object", "additionalProperties": False, "properties": {"key": {"type": "string"}}},
    },
}


@pytest.fixture
def schema_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "recipe.schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    monkeypatch.setattr(resources, "folder", lambda _kind: tmp_path)


def check(text: str, name: str = "r.yaml") -> list[tuple[str, str, str, str | None]]:
    report = Report()
    document = read_document(name, text.encode(), report)
    assert document is not None, report.diagnostics
    fits = validate(document, "recipe", report)
    assert fits == (not report.diagnostics)
    return [(found.code, str(found.span), found.message, found.hint) for found in report.diagnostics]


@pytest.mark.usefixtures("schema_folder")
@pytest.mark.parametrize(
    "line",
    [
        "version: 24.10",
        "version: NO",
        "version: true",
        "version: ''",
        "port: 8000",
        "port: 131_07",
        "ratio: 1",
        "ratio: 0.5",
        "flag: true",
        "either: x",
        "either: true",
        "either: 0123",
        "maybe:",
        "maybe: x",
        "args: [a, 8000, 1e6, no]",
        "env: {A: 0123, B: x}",
        "<<: {version: x}",
    ],
)
def test_what_fits(line: str) -> None:
    assert check(f"name: x\n{line}\n") == []


@pytest.mark.usefixtures("schema_folder")
def test_toml_fits_the_same_schema() -> None:
    assert check('name = "x"\nversion = "1"\nport = 8_000\nratio = 0.5\nflag = true\nargs = ["a"]\n', "r.toml") == []


@pytest.mark.usefixtures("schema_folder")
def test_all_faults_are_reported_in_the_order_of_the_file() -> None:
    text = "port: 70000\nengin: x\nengine: vlm\nargs: []\nflag: 'true'\nenv: {a: x}\ninner:\n  ky: 1\n"
    assert check(text) == [
        ("SPK030", "r.yaml:1:1", "the document needs the key 'name'", "add name: Lower-case letters only."),
        ("SPK023", "r.yaml:1:7", "port is 70000, but must be at most 65535", "A TCP port."),
        ("SPK020", "r.yaml:2:1", "unknown key 'engin'", "did you mean 'engine'?"),
        ("SPK031", "r.yaml:3:9", "engine must be one of vllm, sglang, not 'vlm'", "did you mean 'vllm'?"),
        ("SPK033", "r.yaml:4:7", "args must have at least 1 item", "write at least 1 item"),
        ("SPK021", "r.yaml:5:7", "flag must be true or false, not 'true'", "remove the quotes"),
        ("SPK032", "r.yaml:6:7", "'a' cannot be a key of env", "use another name"),
        ("SPK020", "r.yaml:8:3", "unknown key 'inner.ky'", "did you mean 'key'?"),
    ]


@pytest.mark.usefixtures("schema_folder")
@pytest.mark.parametrize(
    ("line", "code", "message", "hint"),
    [
        ("version:", "SPK021", "version must be text, not empty", 'write "" if no text is meant, else remove the key'),
        ("version: [x]", "SPK021", "version must be text, not a list", "write text"),
        ("args: x", "SPK021", "args must be a list, not 'x'", "write [x], or one item per line after '- '"),
        ("args: [a, b, a]", "SPK033", "args lists 'a' twice, first at line 2", "remove one of the two"),
        ("args: ['']", "SPK033", "args[0] must have at least 1 character", "write at least 1 character"),
        ("ratio: 0", "SPK023", "ratio is 0, but must be more than 0", "write a number that is more than 0"),
        ("port: 1.5", "SPK021", "port must be a whole number, not 1.5", "write a whole number"),
        ("env: {A: [x]}", "SPK021", "env.A must be text, not a list", "write text"),
    ],
)
def test_each_fault_in_the_users_terms(line: str, code: str, message: str, hint: str) -> None:
    assert [(found[0], *found[2:]) for found in check(f"name: x\n{line}\n")] == [(code, message, hint)]


@pytest.mark.usefixtures("schema_folder")
def test_a_pattern_ends_at_the_end_of_the_text() -> None:
    ((code, _, message, hint),) = check('name: "x\\n"\n')
    assert (code, message, hint) == (
        "SPK032",
        "name cannot be 'x\\n': it has the wrong form",
        "Lower-case letters only.",
    )


@pytest.mark.parametrize("kind", ["recipe", "inventory", "mod", "bundle"])
def test_our_schemas_are_valid_draft_07_without_alternatives(kind: str) -> None:
    from jsonschema import Draft7Validator

    text = resources.read_text("schemas", f"{kind}.schema.json")
    Draft7Validator.check_schema(json.loads(text))
    # an error under one of several alternatives cannot be put in plain words
    assert '"oneOf"' not in text
    assert '"anyOf"' not in text


def prepared_validator(schema: dict[str, Any]) -> dict[str, Any]:
    from sparkc.prepare import validator_code

    made: dict[str, Any] = {}
    exec(validator_code(json.dumps(schema)), made)
    return made


def test_a_prepared_validator_is_used_only_while_it_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SimpleNamespace(**prepared_validator(SCHEMA))
    monkeypatch.setattr(prepared, "_prepared", lambda _name: made)
    assert prepared.validator("recipe", json.dumps(SCHEMA)) is not None
    assert prepared.validator("recipe", json.dumps(SCHEMA) + " ") is None


def test_a_prepared_validator_decides_as_jsonschema_does() -> None:
    from jsonschema import Draft7Validator

    decide = prepared_validator(SCHEMA)["validate"]
    values = [
        "x",
        "X",
        "",
        1,
        0,
        70000,
        1.5,
        True,
        None,
        [],
        ["a"],
        ["a", "a"],
        [""],
        {},
        {"A": "x"},
        {"a": "x"},
        {"key": "x"},
    ]
    for key in SCHEMA["properties"]:
        for value in values:
            document = {"name": "x", key: value}
            try:
                decide(document)
            except prepared.Invalid:
                fits = False
            else:
                fits = True
            assert fits == Draft7Validator(SCHEMA).is_valid(document), document


def test_a_fitting_document_is_checked_without_jsonschema() -> None:
    program = f"""
import sys
from types import SimpleNamespace
from sparkc import prepared
from sparkc.prepare import validator_code
from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.reading.schema import validate
from sparkc import resources
schema = {json.dumps(SCHEMA)!r}
made = {{}}
exec(validator_code(schema), made)
for name in [name for name in sys.modules if name.startswith(("fastjsonschema", "jsonschema"))]:
    del sys.modules[name]
prepared._prepared = lambda name: SimpleNamespace(**made)
resources.read_text = lambda kind, name: schema
report = Report()
assert validate(read_document("r.yaml", b"name: x", report), "recipe", report)
slow = [name for name in sys.modules if name.startswith(("jsonschema", "fastjsonschema", "tomli"))]
assert not slow, slow
"""
    subprocess.run([sys.executable, "-c", program], check=True)
