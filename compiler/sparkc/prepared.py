"""What was made from the schemas and templates when the package was built, used only while it is fresh.

Each prepared piece is stored with the fingerprint of what it was made from. If that has changed since (an
editable checkout), the schema or template file itself is used, the slow right way: it stays the one source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparkc import resources

if TYPE_CHECKING:
    from jinja2 import BaseLoader

# Modules whose code is compiled into the templates: the environment's options and its filters.
_TEMPLATE_CODE = ("bundle/templates.py", "bundle/quoting.py")


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


def schema_fingerprint(schema: str) -> str:
    """Return what identifies the schema text that a prepared validator was made from."""
    return hashlib.sha256(schema.encode("utf-8")).hexdigest()


def template_base() -> str:
    """Return what identifies everything but the template that decides its compiled code."""
    from jinja2.bccache import bc_version  # jinja2 counts it up when compiled templates of old stop fitting

    code = "".join(resources.read_code(name) for name in _TEMPLATE_CODE)
    return hashlib.sha256(f"{bc_version}\n{code}".encode()).hexdigest()


def template_fingerprint(base: str, template: str) -> str:
    """Return what identifies one template's text together with :func:`template_base`."""
    return hashlib.sha256(f"{base}\n{template}".encode()).hexdigest()


def validator(kind: str, schema: str) -> Callable[[Any], Any] | None:
    """Return the prepared validator for a schema with the text ``schema``, or None if there is no fresh one.

    ``kind`` is "recipe", "inventory", "mod" or "bundle". The validator raises :class:`Invalid`.
    """
    module = _prepared(f"validate_{kind}")
    fresh = module is not None and schema_fingerprint(schema) == module.FINGERPRINT
    return module.validate if fresh else None


def template_loader() -> BaseLoader:
    """Return a jinja2 loader for ``templates/``: each template compiled if that is fresh, else from its file."""
    from jinja2 import FileSystemLoader  # reading files needs no jinja2

    sources = FileSystemLoader(str(resources.folder("templates")), encoding="utf-8")
    made = _prepared("template_fingerprints")
    if made is None:
        return sources
    from jinja2 import ChoiceLoader, ModuleLoader, TemplateNotFound

    base = template_base()

    class Fresh(ModuleLoader):
        """The compiled templates, less those whose source has changed."""

        def load(self, environment: Any, name: str, globals: Any = None) -> Any:  # noqa: A002 - jinja2's name
            now = template_fingerprint(base, resources.read_text("templates", name))
            if now != made.FINGERPRINTS.get(name):
                raise TemplateNotFound(name)
            return super().load(environment, name, globals)

    return ChoiceLoader([Fresh(str(resources.prepared_templates())), sources])


def _prepared(name: str) -> Any:
    try:
        return import_module(f"sparkc._prepared.{name}")
    except ImportError:  # a checkout that was never built
        return None
