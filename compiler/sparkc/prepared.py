"""What was made from the schemas and templates when the package was built, used only while it is fresh.

Each prepared piece is a module of ``sparkc/_prepared`` that holds the fingerprint of what it was made from. If that
has changed since (an editable checkout), the schema or template file itself is used, the slow right way: it stays
the one source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from sparkc import resources

# Modules that decide what a template is compiled to: jinja2's options, and the filters, which it applies to constants.
_TEMPLATE_CODE = ("bundle/template_code.py", "bundle/quoting.py")


class Invalid(Exception):  # noqa: N818 - it carries a verdict; what is wrong is explained from the schema
    """A document does not fit its schema; prepared validators raise it."""

    def __init__(self, message: str = "", **_details: object) -> None:
        super().__init__(message)


class Patterns:
    """The regular expressions of a prepared validator, each compiled when it is first needed."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def __getitem__(self, pattern: str) -> re.Pattern[str]:
        """Return the expression for a schema's ``pattern``; ``re`` keeps it for the next use."""
        return re.compile(self._sources[pattern])


@cache
def schema_fingerprint(schema: str) -> str:
    """Return what identifies the schema text that a prepared validator was made from."""
    return hashlib.sha256(schema.encode("utf-8")).hexdigest()


def template_fingerprint(template: str) -> str:
    """Return what identifies a template's text together with the code that decides what becomes of it."""
    return hashlib.sha256(f"{_template_code()}\n{template}".encode()).hexdigest()


@cache
def _template_code() -> str:
    return "\n".join(map(resources.read_code, _TEMPLATE_CODE))


def template_module(name: str) -> str:
    """Return the name of a template's prepared module; ``name`` is its path below ``templates/``."""
    return "template_" + re.sub(r"[^A-Za-z0-9]", "_", name.removesuffix(".j2"))


def validator(kind: str, schema: str) -> Callable[[Any], Any] | None:
    """Return the prepared validator for a schema with the text ``schema``, or None if there is no fresh one.

    ``kind`` is "recipe", "inventory", "mod" or "bundle". The validator raises :class:`Invalid`.
    """
    module = _prepared(f"validate_{kind}")
    fresh = module is not None and schema_fingerprint(schema) == module.FINGERPRINT
    return module.validate if fresh else None


def template(name: str, text: str) -> Callable[[Any], Iterator[str]] | None:
    """Return the ``root`` function of a compiled template with the text ``text``, or None if there is no fresh one."""
    module = _prepared(template_module(name))
    fresh = module is not None and template_fingerprint(text) == module.FINGERPRINT
    return module.root if fresh else None


def _prepared(name: str) -> Any:
    try:
        return import_module(f"sparkc._prepared.{name}")
    except ImportError:  # a checkout that was never built
        return None
