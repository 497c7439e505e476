"""One identity: the name of the out folder, the Compose project, the container and the remote folder."""

from __future__ import annotations

import hashlib
import re

_ALLOWED = re.compile(r"[^a-z0-9_-]")


def identity(name: str, inventory: str | None = None) -> str:
    """Return ``name`` in the alphabet that Compose projects and containers share.

    Lowercased, other characters become ``-``; four hex digits of the original follow when that changed
    anything, so that ``qwen3.8`` and ``qwen38`` stay two projects (Compose squeezes both into one,
    https://github.com/docker/compose/issues/10426). ``-<inventory>`` is appended for a chosen inventory.
    """
    safe = _ALLOWED.sub("-", name.lower()).lstrip("-_") or "x"
    if safe != name:
        safe = f"{safe}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}"
    if inventory is not None:
        safe = f"{safe}-{identity(inventory)}"
    return safe if len(safe) > 1 else f"{safe}-{hashlib.sha256(name.encode()).hexdigest()[:4]}"
