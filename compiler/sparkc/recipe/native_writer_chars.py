"""Characters that a written file shows as escapes: those that editors hide, take for blanks, or obey.

A fixed list rather than ``str.isprintable()``: what is written must not depend on Python's Unicode tables.
"""

from __future__ import annotations

import re

INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\uffff]"
)


def is_visible(text: str) -> bool:
    """Return whether ``text`` has no such character."""
    return INVISIBLE.search(text) is None
