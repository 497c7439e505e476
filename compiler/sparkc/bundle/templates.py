"""The Jinja environment of the bundle's templates, the same at build time and at run time."""

from __future__ import annotations

from jinja2 import BaseLoader, Environment, StrictUndefined

from sparkc.bundle.quoting import FILTERS, finalize


def environment(loader: BaseLoader) -> Environment:
    """Return the environment that compiles and renders our templates.

    Undefined names are errors, every value must have passed a quoting filter, and HTML escaping is off: none of
    the files is HTML, and each has its own filter.
    """
    made = Environment(
        loader=loader,
        undefined=StrictUndefined,
        finalize=finalize,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701
    )
    made.filters.update(FILTERS)
    return made
