"""A mod's files, read from disk by the caller, become a checked :class:`Mod` that a bundle can carry.

Everything here is refused before a byte of a bundle is written, because a mod's files are copied onto other
machines: names that leave the folder, links, names that two file systems would tell apart differently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from sparkc.diagnostics import Related, Report
from sparkc.planning.model import Mod, ModFile
from sparkc.reading.fields import Fields
from sparkc.reading.read import read_document
from sparkc.reading.schema import validate
from sparkc.reading.source import Span
from sparkc.record import dataclass
from sparkc.traced import Traced

# A mod patches a few files; a bundle is committed to git and copied to every node. A wheel or two still fit.
SIZE_LIMIT = 64 * 1024 * 1024
COUNT_LIMIT = 2000

# The mod that puts git and other tools into a stock engine image, for the mods after it:
# https://github.com/eugr/spark-vllm-docker#2026-05-22
TOOLS_MOD = "use-official-vllm"

# The name becomes a folder in the bundle and /workspace/mods/<name> in the container, quoted in neither.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class ModEntry:
    """One thing found in a mod's folder or zip. ``path`` is as found, with ``/`` between folders.

    ``mode`` holds permission bits only; ``data`` is empty unless ``kind`` is "file".
    """

    path: str
    kind: Literal["file", "directory", "link", "other"]
    mode: int
    data: bytes


def mod_name(reference: str) -> str:
    """Return the name under which a mod is applied: the base name of its folder, or of its zip without ``.zip``."""
    return reference.rstrip("/").rpartition("/")[2].removesuffix(".zip")


def check_mod_list(references: Sequence[Traced[str]], report: Report, missing: Collection[str] = ()) -> None:
    """Check what the mods of one recipe must keep among each other: distinct names, the tools mod first.

    All mods land in ``/workspace/mods/<name>``; two of one name would run over each other's files. References in
    ``missing`` name no mod, which is a fault of its own.
    """
    first: dict[str, Traced[str]] = {}
    for position, reference in enumerate(references):
        if reference.value in missing:
            continue
        name = mod_name(reference.value)
        if name in first:
            earlier = first[name].origin.span
            report.error(
                "SPK510",
                f"mod {name!r} is listed twice: both would be copied to /workspace/mods/{name}",
                reference.origin.span,
                hint="remove one of the two, or rename its folder",
                related=[Related("first listed here", earlier)] if earlier is not None else [],
            )
            continue
        first[name] = reference
        if name == TOOLS_MOD and position > 0:
            report.error(
                "SPK511",
                f"mod {TOOLS_MOD!r} must be the first mod: it installs what the others need",
                reference.origin.span,
                hint=f"list {reference.value!r} first under `mods:` in the recipe",
            )


def unknown_mod(reference: Traced[str]) -> Mod:
    """Return what stands for a mod that is missing or refused, so that planning goes on: it runs something."""
    return Mod(mod_name(reference.value), reference, (ModFile("run.sh", b"", 0o755),))


def build_mod(name: str, entries: Sequence[ModEntry], reference: Traced[str], report: Report) -> Mod | None:
    """Check a mod's entries and its mod.yaml, and return what a bundle carries, or None after an error.

    ``name`` is the folder's base name, ``reference`` the mod as the recipe or the flag names it; diagnostics point
    there, those about mod.yaml into that file. Modes become 0755 where any x bit is set (``run.sh`` always), else
    0644. mod.yaml itself is for the compiler and stays out, so that a better description restarts no model.
    """
    span = reference.origin.span
    own = Report()
    if not _NAME.fullmatch(name):
        own.error(
            "SPK500",
            f"{name!r} cannot be the name of a mod",
            span,
            hint="rename the folder: letters, digits, '.', '_', '+' and '-', not starting with '.' or '-'",
        )
    _check_entries(name, entries, span, own)
    facts = _read_facts(name, entries, span, own)
    retired = facts is not None and facts.text("native_since")
    if not retired:
        _check_run(name, entries, span, own)
    for diagnostic in own.diagnostics:
        report.add(diagnostic)
    if own.failed:
        return None
    if facts is None:
        return Mod(name, reference, _files(entries))
    every_start = facts.text("runs")
    return Mod(
        name,
        reference,
        files=() if retired else _files(entries),
        description=_text(facts, "description"),
        requires=tuple(item.value for item in facts.texts("requires")),
        every_start=every_start is not None and every_start.value == "every-start",
        native_since=_text(facts, "native_since"),
    )


def _check_entries(name: str, entries: Sequence[ModEntry], span: Span | None, report: Report) -> None:
    """Report unsafe names, links, colliding names and a mod beyond the limits, each with the entry it is about."""
    for entry in entries:
        problem = _name_problem(entry.path)
        if problem is not None:
            report.error(
                "SPK501", f"mod {name!r}: {problem}: {entry.path!r}", span, hint="rename or remove it in the mod"
            )
        if entry.kind == "link":
            report.error(
                "SPK502",
                f"mod {name!r}: {entry.path!r} is a link, and its target may lie outside the mod",
                span,
                hint="put a copy of the file in its place",
            )
        elif entry.kind == "other":
            report.error(
                "SPK502", f"mod {name!r}: {entry.path!r} is neither a file nor a folder", span, hint="remove it"
            )
    for one, other in _collisions(entries):
        problem = "stands twice" if one == other else f"and {other!r} are one name where case does not count"
        report.error("SPK503", f"mod {name!r}: {one!r} {problem}", span, hint="rename or remove one of them")
    if sum(len(entry.data) for entry in entries) > SIZE_LIMIT or len(entries) > COUNT_LIMIT:
        report.error(
            "SPK506",
            f"mod {name!r} is larger than {SIZE_LIMIT // 2**20} MiB or {COUNT_LIMIT} files",
            span,
            hint="keep what run.sh uses, and mount large data with `mounts`",
        )


def _name_problem(path: str) -> str | None:
    if not path.isprintable():  # a name that is not UTF-8 comes as surrogates, which are not printable either
        return "a file name with a control character, or not UTF-8"
    if "\\" in path:
        return "a file name with a backslash, which is a folder separator elsewhere"
    if path.startswith("/") or _DRIVE.match(path):
        return "an absolute file name"
    parts = path.split("/")
    if ".." in parts:
        return "a file name that leaves the mod"
    if "" in parts or "." in parts:
        return "a file name with an empty part"
    own = any(part.startswith(".sparkc-") for part in parts)
    return "a file name that sparkc keeps for its own" if own else None


def _collisions(entries: Iterable[ModEntry]) -> Iterator[tuple[str, str]]:
    """Yield pairs of names, whole paths or folders on the way, that macOS or Windows would take for one."""
    seen: dict[str, str] = {}
    files: set[str] = set()
    for entry in sorted(entries, key=lambda entry: (entry.path, entry.kind)):
        parts = entry.path.split("/")
        prefixes = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
        for prefix in prefixes:
            key = unicodedata.normalize("NFC", prefix).casefold()
            is_leaf = prefix == entry.path and entry.kind != "directory"
            known = seen.setdefault(key, prefix)
            if known != prefix or key in files:
                yield known, prefix
                break
            if is_leaf:
                files.add(key)


def _read_facts(name: str, entries: Sequence[ModEntry], span: Span | None, report: Report) -> Fields | None:
    """Return the fields of a valid mod.yaml; None when it is absent (a note) or invalid (errors)."""
    data = next((entry.data for entry in entries if entry.path == "mod.yaml" and entry.kind == "file"), None)
    if data is None:
        report.note(
            "SPK507",
            f"mod {name!r} has no mod.yaml: nothing is known about what it does or needs",
            span,
            hint="a mod.yaml with a `description` tells the reviewer",
        )
        return None
    document = read_document(f"mods/{name}/mod.yaml", data, report)
    if document is None or not validate(document, "mod", report):
        return None
    fields = Fields(document.root, "", report)
    if (native := fields.text("native_since")) is not None:
        report.note(
            "SPK508",
            f"mod {name!r} has nothing to do: the engine needs it no longer since {native.value}",
            span,
            hint="remove it from the recipe once the image has that version",
        )
    elif (supports := fields.text("supports")) is not None:
        report.note("SPK509", f"mod {name!r} was tried with {supports.value}", span)
    return fields


def _check_run(name: str, entries: Sequence[ModEntry], span: Span | None, report: Report) -> None:
    run = next((entry for entry in entries if entry.path == "run.sh" and entry.kind == "file"), None)
    if run is None:
        inner = next((entry.path for entry in entries if entry.path.endswith("/run.sh")), None)
        report.error(
            "SPK504",
            f"mod {name!r} has no run.sh at its top",
            span,
            hint=f"there is a {inner!r}: take the content of that folder" if inner else "add a run.sh that applies it",
        )
    elif b"\r\n" in run.data:
        report.error(
            "SPK505",
            f"mod {name!r}: run.sh has CRLF line ends, and no shell can run it",
            span,
            hint="convert it with `sed -i 's/\\r$//' run.sh`",
        )


def _files(entries: Iterable[ModEntry]) -> tuple[ModFile, ...]:
    files = (
        ModFile(entry.path, entry.data, 0o755 if entry.mode & 0o111 or entry.path == "run.sh" else 0o644)
        for entry in entries
        if entry.kind == "file" and entry.path != "mod.yaml"
    )
    return tuple(sorted(files, key=lambda file: file.path))


def _text(facts: Fields, key: str) -> str:
    value = facts.text(key)
    return value.value if value is not None else ""
