"""Sizes as Compose writes them, compared and added."""

from __future__ import annotations

import re

from sparkc.patterns import pattern

_SIZE = pattern(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def in_bytes(size: str) -> int:
    """Return a Compose size (``64gb``, ``512m``, a bare number of bytes) in bytes; units are powers of 1024.

    Raises:
        ValueError: the text is no size.
    """
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(size)
    return int(float(match[1]) * _FACTORS[match[2].lower()])


def plus_gigabytes(size: str, gigabytes: int) -> str:
    """Return a size that is larger by ``gigabytes`` GiB, in gigabytes where that is a whole number."""
    total = in_bytes(size) + gigabytes * _FACTORS["g"]
    whole, rest = divmod(total, _FACTORS["g"])
    return f"{total}b" if rest else f"{whole}gb"
