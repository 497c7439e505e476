"""The files of a bundle, in memory."""

from __future__ import annotations

from sparkc.record import dataclass


@dataclass(frozen=True)
class BundleFile:
    """One file: a path relative to the bundle's folder (POSIX separators), its bytes, and 0o644 or 0o755."""

    path: str
    data: bytes
    mode: int = 0o644


# Sorted by path, bundle.json included.
Files = tuple[BundleFile, ...]
