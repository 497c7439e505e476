"""From a template to Python code, by jinja2, when the package is built or a checkout's template has changed.

The code runs without jinja2, see :mod:`sparkc.bundle.templates`. So templates are limited to what stands there:
values through our quoting filters, ``~``, the test ``none``, conditions, loops, and ``set`` inside loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from jinja2 import Environment
from jinja2.runtime import exported

from sparkc.bundle import templates
from sparkc.bundle.quoting import FILTERS, finalize

_PROVIDED = ("Undefined", "environment", "missing", "str_join")
# What compiled code names where a filter is unknown, which is an error in either runtime.
_ON_ERROR = {"internalcode", "TemplateRuntimeError", "TemplateNotFound"}
# Names and attributes that compiled code has only for what our runtime lacks: `loop`, macros, includes, `set` at the
# top, filters that ask for the context.
_FOREIGN = {*exported, "vars", "eval_ctx", "blocks", "get_template"} - {*_PROVIDED, *_ON_ERROR}


def template_code(text: str, name: str) -> str:
    """Return a module with ``root(context)``, which yields the template's output piece by piece.

    HTML escaping is off: none of our files is HTML, and each has its own filter.

    Raises:
        jinja2.TemplateSyntaxError: ``text`` is no template, or uses an unknown filter.
        ValueError: it uses something that our runtime lacks.
    """
    made = Environment(
        finalize=finalize,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701
    )
    made.filters = dict(FILTERS)
    made.tests = dict(templates.TESTS)
    first, code = made.compile(text, name=name, raw=True).split("\n", 1)
    assert first.startswith("from jinja2.runtime import ")  # noqa: S101 - jinja2 changed what it generates
    foreign = _FOREIGN.intersection(_function_names(compile(code, name, "exec")))
    if foreign:
        raise ValueError(f"the template {name} uses {', '.join(sorted(foreign))} of jinja2, which sparkc runs without")
    return f"from {templates.__name__} import {', '.join(_PROVIDED)}\n{code}\n"


def _function_names(code: CodeType) -> Iterator[str]:
    """Yield the names and attributes that the functions in ``code`` use."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from constant.co_names
            yield from _function_names(constant)
