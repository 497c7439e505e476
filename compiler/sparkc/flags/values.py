"""What argparse makes of one value: type, choices and range."""

from __future__ import annotations

import re
from collections.abc import Callable

from sparkc.flags.dumps import Dump, Option
from sparkc.flags.findings import Findings
from sparkc.flags.grammar import Use
from sparkc.flags.nearest import nearest
from sparkc.traced import Traced

_HUMAN = r"(\d+(?:\.\d+)?)([kKmMgGtT])"
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_RANGE: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "gt": ("above", lambda value, limit: value > limit),
    "ge": ("at least", lambda value, limit: value >= limit),
    "lt": ("below", lambda value, limit: value < limit),
    "le": ("at most", lambda value, limit: value <= limit),
}
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "human": "a whole number, or one like 128k (128000) or 128K (131072)",
    "human-or-auto": "a whole number, one like 128k (128000) or 128K (131072), or auto",
}


_MOST_DIGITS = 300  # more than any count; a float, which some are read through, ends soon after


def human_int(text: str) -> int:
    """Read vLLM's human-readable integers: ``25.6k`` is 25600, ``1K`` is 1024.

    Raises:
        ValueError: the text is no such number; a decimal with a binary suffix is none either.
    """
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{text[:20]}… has too many digits")
    match = None if text.isdecimal() else re.fullmatch(_HUMAN, text.strip())
    if match is None:
        return int(text)
    number, suffix = match.groups()
    return int(float(number) * _DECIMAL[suffix]) if suffix in _DECIMAL else int(number) * _BINARY[suffix]


def number(option: Option, text: str) -> float | None:
    """Return the number that an option's value is; None where it stands for "none" or "auto".

    Raises:
        ValueError: the option takes a number and this is none.
    """
    if option.none and text in ("", "None"):
        return None
    if option.kind == "int":
        return int(text)
    if option.kind == "float":
        return float(text)
    if option.kind == "human-or-auto" and text.strip().lower() == "auto":
        return None
    return human_int(text)


def check_value(use: Use, value: Traced[str], findings: Findings) -> None:
    """Report a value that the option's type, choices or range does not admit."""
    option, text = use.option, value.value
    name = option.name
    if option.none and text in ("", "None"):
        return
    if option.choices:
        if _folded(option, text) not in option.choices:
            _not_among(use, value, findings, option.choices)
        return
    if option.suggested and text not in option.suggested:
        _not_suggested(use, value, findings)
    if option.kind not in _WANTED:
        return
    try:
        read = number(option, text)
    except ValueError:
        findings.wrong("SPK810", f"{name} takes {_WANTED[option.kind]}, got {text!r}", value, hint=_spelled(text))
        return
    for key, limit in option.limits if read is not None else ():
        words, holds = _RANGE[key]
        if read is not None and not holds(read, limit):
            findings.wrong(
                "SPK811", f"{name} must be {words} {limit:g}, got {text}", value, hint="write a value within the range"
            )


def _folded(option: Option, text: str) -> str:
    return text.lower().replace("-", "_") if option.kind == "folded" else text


def _not_among(use: Use, value: Traced[str], findings: Findings, choices: tuple[str, ...]) -> None:
    name, text = use.option.name, value.value
    hint = nearest(text, choices) or f"it takes {', '.join(choices[:8])}{', …' if len(choices) > 8 else ''}"
    findings.unknown(
        "SPK809",
        f"{name} of {findings.basis.name} does not take {text!r}",
        value,
        hint=hint,
        known=lambda other: _takes(other, name, text),
    )


def _not_suggested(use: Use, value: Traced[str], findings: Findings) -> None:
    """A value outside an open list; only the names of cache types are complete, others may come from plugins."""
    if use.option.name == "--kv-cache-dtype":
        _not_among(use, value, findings, use.option.suggested)
        return
    if "." not in value.value:  # a dotted name is a class of the user's own
        findings.doubtful(
            "SPK809",
            f"{use.option.name} {value.value!r} is none of {findings.basis.name}'s own: a plugin has to bring it",
            value,
            hint=nearest(value.value, use.option.suggested) or f"own are {', '.join(use.option.suggested)}",
        )


def _takes(dump: Dump, name: str, text: str) -> bool:
    option = dump.option(name)
    return option is not None and (not option.choices or _folded(option, text) in option.choices)


def _spelled(text: str) -> str:
    try:
        human_int(text)
    except ValueError:
        return "write digits only"
    return f"this flag takes no suffix: write {human_int(text)}"
