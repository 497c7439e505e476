"""Rendering, without jinja2: it compiles our templates to Python once, and importing it took 30 ms of each compile.

Everything here but :func:`render_template` is what such code calls, by jinja2's names. It is stricter than jinja2
itself: a missing name or attribute is an error at once, and every value must have passed a quoting filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import getitem
from types import SimpleNamespace
from typing import Any

from sparkc import prepared, resources
from sparkc.bundle.quoting import FILTERS, finalize

TESTS: Mapping[str, Callable[[object], bool]] = {"none": lambda value: value is None}

# What a loop's variables hold after the loop.
missing = object()


def render_template(name: str, values: Mapping[str, object]) -> str:
    """Return the text that a template, named by its path below ``templates/``, makes of ``values``.

    Raises:
        TypeError: the template writes a value without a quoting filter: our bug.
        LookupError, AttributeError: it names what ``values`` do not have: our bug too.
    """
    return "".join(_root(name)(Context(values)))


@cache
def _root(name: str) -> Callable[[Context], Iterator[str]]:
    text = resources.read_text("templates", name)
    return prepared.template(name, text) or compiled(name, text)


def compiled(name: str, text: str) -> Callable[[Context], Iterator[str]]:
    """Return the ``root`` function of a template that has changed since the package was built, or never was in it."""
    from sparkc.bundle.template_code import template_code  # imports jinja2

    namespace: dict[str, Any] = {}
    exec(template_code(text, name), namespace)  # noqa: S102 - what jinja2 does with its own templates, too
    root: Callable[[Context], Iterator[str]] = namespace["root"]
    return root


class Context:
    """The values of one rendering."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.resolve_or_missing = values.__getitem__

    @staticmethod
    def call(function: Callable[..., Any], *arguments: object, **_scopes: object) -> Any:
        """Call a method from a template."""
        return function(*arguments)


def str_join(parts: Iterable[object]) -> str:
    """The operator ``~``."""
    return "".join(map(str, parts))


def Undefined(name: str = "a value") -> None:  # noqa: N802
    """Refuse a name without a value: a loop's variable after the loop, or ``a if b`` without ``else``."""
    raise NameError(f"{name} is undefined in a template")


environment = SimpleNamespace(
    filters=FILTERS,
    tests=TESTS,
    finalize=finalize,
    undefined=Undefined,
    getattr=getattr,
    getitem=getitem,
    concat="".join,
)
