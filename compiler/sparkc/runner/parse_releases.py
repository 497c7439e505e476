"""What a node keeps of a bundle, from the sections of a look: releases, links, lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isfinite

from sparkc.runner.facts import Holder, Release, Releases

_RELEASE = "release "
_MANIFEST = "bundle.json"


def parse_releases(sections: Mapping[str, str], clock: float) -> Releases:
    """Return the releases among the sections, newest first; ``clock`` is the node's, for the lock's deadline."""
    links = dict(_pairs(sections.get("links", "")))
    names = [name.removeprefix(_RELEASE) for name in sections if name.startswith(_RELEASE)]
    kept = [_release(name, sections[_RELEASE + name], sections.get(f"manifest {name}", "")) for name in names]
    current = _linked(links.get("current", ""), names)
    manifest = sections.get(f"manifest {current}", "")
    return Releases(
        kept=tuple(sorted(kept, key=lambda release: (-release.deployed, release.digest))),
        current=current,
        previous=_linked(links.get("previous", ""), names),
        manifest=manifest.encode() or None,
        lock=parse_lock(sections["lock"], clock) if "lock" in sections else None,
        ports={digest: ports for name in names for digest, ports in rank_ports(sections.get(f"manifest {name}", ""))},
    )


def rank_ports(manifest: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the digest of every rank in a bundle.json with the ports that it holds; nothing for any other text."""
    try:
        ranks = json.loads(manifest)["ranks"]
        yield from [(rank["digest"], tuple(port["number"] for port in rank["ports"])) for rank in ranks]
    except (ValueError, KeyError, TypeError, RecursionError):
        return


def parse_lock(text: str, clock: float) -> Holder:
    """Return who holds a lock, from the lines of its files; what cannot be read counts as long gone."""
    values = {key: value for key, separator, value in (line.partition("=") for line in text.splitlines()) if separator}
    deadline = _seconds(values.get("deadline", ""))
    return Holder(
        who=values.get("who", "somebody"),
        pid=int(_seconds(values.get("pid", ""))),
        doing=values.get("doing", "something"),
        since=_seconds(values.get("since", "")),
        deadline=deadline,
        alive=deadline > clock and "abandoned" not in values,
    )


def _release(name: str, text: str, manifest: str) -> Release:
    values: dict[str, str] = {}
    found: dict[str, str] = {}
    for key, value in _pairs(text):
        if key == "file":
            path, digest = _hashed(value)
            found[path] = digest
        elif key == "other":
            found[value.removeprefix("./")] = "no file"
        else:
            values[key] = value
    secrets = values.get("secrets", "").partition(" ")[0]
    return Release(name, _seconds(values.get("deployed", "")), _changed(name, found, manifest), secrets or None)


def _changed(name: str, found: Mapping[str, str], manifest: str) -> tuple[str, ...]:
    """Return the files of a release that are changed, missing or too many.

    Of a bundle a node has its own rank folders only, whole.
    """
    try:
        data = json.loads(manifest)
        intact = data["group_digest"] == name
        hashes = {entry["path"]: entry["sha256"] for entry in data["files"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        intact, hashes = False, {}
    if not intact:
        return (_MANIFEST,)
    folders = {path.partition("/")[0] for path in found if "/" in path}
    if not folders:
        return ("the rank's folder",)
    expected = {path: digest for path, digest in hashes.items() if path.partition("/")[0] in folders}
    actual = {path: digest for path, digest in found.items() if path != _MANIFEST}
    return tuple(sorted(path for path in expected.keys() | actual.keys() if expected.get(path) != actual.get(path)))


def _hashed(line: str) -> tuple[str, str]:
    """Return the path and the hash of a line of sha256sum, which escapes what would end a line."""
    escaped = line.startswith("\\")
    digest, _, path = line.removeprefix("\\").partition("  ")
    if escaped:
        path = path.replace("\\\\", "\0").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\")
    return path.removeprefix("./"), digest


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, tab, value = line.partition("\t")
        if tab:
            yield key, value


def _linked(target: str, names: list[str]) -> str | None:
    name = target.rstrip("/").rpartition("/")[2]
    return name if name in names else None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if isfinite(seconds) else 0.0
