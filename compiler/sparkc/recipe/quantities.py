"""Times and sizes as recipes write them."""

from __future__ import annotations

from sparkc.patterns import pattern
from sparkc.reading.fields import Fields
from sparkc.traced import Traced

_SECONDS = pattern(r"[0-9]{1,7}")
_TIME = pattern(r"(?=[0-9])(?:{0}d)?(?:{0}h)?(?:{0}m)?(?:{0}s)?".format(r"([0-9]{1,7}(?:\.[0-9]{1,3})?)"))
_UNITS = (86400, 3600, 60, 1)
# Compose drops a size that it cannot read without a word (shm_size: 1e9), so only its documented units pass.
_SIZE = pattern(r"[1-9][0-9]*|[0-9]+(\.[0-9]+)?([bB]|[kKmMgG][bB]?)")


def read_duration(fields: Fields, key: str) -> Traced[int] | None:
    """Return a time in whole seconds: ``30m``, ``1h30m``, ``0.5h``, or a bare number of seconds."""
    traced = fields.text(key)
    if traced is None:
        return None
    text = traced.value
    match = _TIME.fullmatch(text)
    seconds = 0
    if _SECONDS.fullmatch(text):
        seconds = int(text)
    elif match is not None:
        seconds = round(sum(float(part) * unit for part, unit in zip(match.groups(), _UNITS, strict=True) if part))
    if seconds > 0:
        return traced.with_value(seconds)
    fields.report.error(
        "SPK154",
        f"{fields.key_path(key)} must be a time of at least one second, not {text!r}",
        traced.origin.span,
        hint="write it like 30m, 1h30m or 90s; a number alone is seconds",
    )
    return None


def read_size(fields: Fields, key: str) -> Traced[str] | None:
    """Return a size as Compose reads it, such as ``64gb``; a bare number is bytes."""
    traced = fields.text(key)
    if traced is None or _SIZE.fullmatch(traced.value):
        return traced
    fields.report.error(
        "SPK155",
        f"{fields.key_path(key)} must be a size, not {traced.value!r}",
        traced.origin.span,
        hint="write digits and a unit (b, kb, mb or gb), such as 64gb",
    )
    return None
