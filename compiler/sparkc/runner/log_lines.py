"""Lines of a container's log: their time, and their text as a terminal may show it."""

from __future__ import annotations

import re

from sparkc.diagnostics.escape import printable_lines

# What colours a line (engines do so without a terminal as well).
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_STAMPED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z) ?(.*)", re.DOTALL)


def log_text(line: str) -> str:
    """Return a line as it can be shown: without colours, and of a progress bar only what it showed last."""
    shown = _COLOUR.sub("", line).rstrip("\r\n ").rpartition("\r")[2]
    return printable_lines(shown)[0]


def split_stamp(line: str) -> tuple[str, str] | None:
    """Return the time stamp and the text of a line of ``docker logs --timestamps``; None for any other line."""
    found = _STAMPED.fullmatch(line)
    return None if found is None else (found[1], found[2])
