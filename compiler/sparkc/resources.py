"""Where the package's data lies: schemas, templates, the recipe catalogue and the mods.

A wheel carries the four folders in ``sparkc/_data`` (pyproject: force-include); in a checkout, also when it
is installed in editable mode, they are the top-level folders beside ``compiler/``.
"""

from __future__ import annotations

from pathlib import Path

from sparkc.errors import SparkcError

KINDS = ("schemas", "templates", "recipes", "mods")

_PACKAGE = Path(__file__).resolve().parent


def folder(kind: str) -> Path:
    """Return the folder of the package data ``kind``, one of :data:`KINDS`; it need not exist in a broken install."""
    if kind not in KINDS:
        raise ValueError(f"no such kind of package data: {kind!r}")
    shipped = _PACKAGE / "_data" / kind
    return shipped if shipped.is_dir() else _PACKAGE.parent.parent / kind


def read_text(kind: str, name: str) -> str:
    """Return the text of one data file, with LF line ends.

    Raises:
        SparkcError: the file is missing or unreadable, so the installation is damaged.
    """
    path = folder(kind) / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SparkcError(
            f"cannot read {kind}/{name} of sparkc itself: {error.strerror or error}",
            hint="the installation is incomplete: install sparkc again",
        ) from error


def read_code(name: str) -> str:
    """Return the text of one of the package's own modules or data files; ``name`` is its path below ``sparkc/``."""
    return (_PACKAGE / name).read_text(encoding="utf-8")


def prepared_folder() -> Path:
    """Return the folder of what :mod:`sparkc.prepare` writes."""
    return _PACKAGE / "_prepared"
