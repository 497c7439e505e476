"""Every code that the sources use is registered, and every registered code is in use."""

from __future__ import annotations

import re
from pathlib import Path

import sparkc
from sparkc.diagnostics.codes import CODES

SOURCES = [path for path in Path(sparkc.__file__).parent.rglob("*.py") if path.name != "codes.py"]


def test_codes_are_registered_and_used() -> None:
    used = {code for path in SOURCES for code in re.findall(r'"(SPK\d{3})"', path.read_text(encoding="utf-8"))}
    assert used - set(CODES) == set()
    assert set(CODES) - used == set()


def test_titles_tell_the_codes_apart() -> None:
    assert len(set(CODES.values())) == len(CODES)
    assert list(CODES) == sorted(CODES)
