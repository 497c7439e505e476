"""Plan → Files: every byte of a bundle, in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkc.bundle import manifest as manifests
from sparkc.bundle.model import BundleFile, Files
from sparkc.bundle.quoting import fits_env_file
from sparkc.bundle.readme import readme_context
from sparkc.bundle.templates import render_template
from sparkc.planning.model import Mod, Plan, RankPlan, Shell
from sparkc.record import dataclass
from sparkc.traced import Traced

# A fixed order for what everybody sets; other limits follow by name.
_ULIMIT_ORDER = ("memlock", "nofile", "stack")

_SCRIPT = "script.sh"


@dataclass(frozen=True)
class VendoredMod:
    """A mod as launch.sh applies it: its folder under ``mods/``, its name in the container, its marker there."""

    folder: str
    name: str
    marker: str
    files: Files


def render(plan: Plan) -> Files:
    """Return all files of the bundle, bundle.json included, sorted by path.

    A rank's digest covers every file of its folder, with an empty digest label in compose.yaml: the label, its last
    line, holds the digest itself.
    """
    mods = tuple(_vendored(position, mod) for position, mod in enumerate(_active(plan.mods), start=1))
    folders = {rank.rank: folder_name(rank) for rank in plan.ranks}
    files: list[BundleFile] = []
    digests: dict[int, str] = {}
    for rank in plan.ranks:
        rank_files = _rank_files(plan, rank, mods)
        compose = _compose_file(plan, rank)
        digests[rank.rank] = manifests.files_digest([compose, *rank_files])
        rank_files.append(_labelled(compose, digests[rank.rank]))
        files += (BundleFile(f"{folders[rank.rank]}/{f.path}", f.data, f.mode) for f in rank_files)
    files.append(_file("README.md", "README.md.j2", readme_context(plan, folders, _mod_titles(plan, mods))))
    manifest = manifests.make_manifest(plan, folders, digests, files)
    files.append(BundleFile(manifests.MANIFEST, manifests.to_bytes(manifest)))
    return tuple(sorted(files, key=lambda file: file.path))


def folder_name(rank: RankPlan) -> str:
    """Return the rank's folder, ``rank-<number>-<node>``; the number keeps it distinct whatever the node's name."""
    return f"rank-{rank.rank}-{_file_name(rank.node.name.value)}"


def _file(path: str, template: str, context: Mapping[str, object], mode: int = 0o644) -> BundleFile:
    return BundleFile(path, render_template(f"bundle/{template}", context).encode(), mode)


def _rank_files(plan: Plan, rank: RankPlan, mods: tuple[VendoredMod, ...]) -> list[BundleFile]:
    """Return the files of a rank's folder except compose.yaml, paths relative to the folder."""
    process = rank.process
    files = []
    if isinstance(process, Shell):
        argv = [word.value for word in process.entrypoint]
        argv += [*process.interpreter.split(None, 1), f"/sparkc/{_SCRIPT}"]
        # The user's own text, exactly.
        files.append(BundleFile(_SCRIPT, process.text.value.encode(), 0o755))
    else:
        argv = [word.value for word in process.argv]
    fitting = [(key, value.value) for key, value in rank.environment.items() if fits_env_file(value.value)]
    shared = {"name": plan.name, "rank": rank}
    files.append(_file("rank.env", "rank.env.j2", {**shared, "environment": fitting}))
    start = {
        "argv": argv,
        "once": any(step.deadline is None for step in rank.steps),
        "retry": any(step.deadline is not None for step in rank.steps),
        "mods": mods,
        "secrets": [secret.value for secret in plan.secrets],
        "earlyoom": plan.earlyoom.value if plan.earlyoom else None,
        "without_earlyoom": _without(plan.earlyoom) if plan.earlyoom else None,
    }
    files.append(_file("launch.sh", "launch.sh.j2", shared | start, 0o755))
    for mod in mods:
        files += (BundleFile(f"mods/{mod.folder}/{file.path}", file.data, file.mode) for file in mod.files)
    return files


def _without(earlyoom: Traced[tuple[str, ...]]) -> str:
    """Return how to compile without the watchdog: the flag or the key that asked for it goes."""
    if earlyoom.origin.kind == "flag":
        return f"compile without {earlyoom.origin.text.split()[0]}"
    return "remove earlyoom from the recipe"


def _labelled(compose: BundleFile, digest: str) -> BundleFile:
    """Return compose.yaml with its digest: rendering it a second time would cost a tenth of all rendering."""
    above, _, below = compose.data.rpartition(b'""')
    assert below == b"\n"  # noqa: S101 - the label is the template's last line
    return BundleFile(compose.path, above + f'"{digest}"\n'.encode(), compose.mode)


def _compose_file(plan: Plan, rank: RankPlan) -> BundleFile:
    limits = {name: limit.value for name, limit in rank.container.ulimits.items()}
    names = [name for name in _ULIMIT_ORDER if name in limits] + sorted(limits.keys() - set(_ULIMIT_ORDER))
    context = {
        "name": plan.name,
        "rank": rank,
        "container": rank.container,
        "secrets": plan.secrets,
        "environment": [(k, v.value) for k, v in rank.environment.items() if not fits_env_file(v.value)],
        "ulimits": [(name, limits[name]) for name in names],
        "digest": "",
    }
    return _file("compose.yaml", "compose.yaml.j2", context)


def _active(mods: tuple[Mod, ...]) -> list[Mod]:
    """Return the mods that run; one without files became unnecessary and is only told in README."""
    return [mod for mod in mods if mod.files]


def _vendored(position: int, mod: Mod) -> VendoredMod:
    files = tuple(BundleFile(file.path, file.data, file.mode) for file in mod.files)
    folder = f"{position:02}-{_file_name(mod.name)}"
    marker = "" if mod.every_start else f".sparkc-applied-{folder}-{manifests.files_digest(files)[:12]}"
    return VendoredMod(folder, mod.name, marker, files)


def _mod_titles(plan: Plan, mods: tuple[VendoredMod, ...]) -> list[tuple[Mod, str]]:
    """Pair each mod of the plan with its folder, "" for one that does not run."""
    folders = iter(mods)
    return [(mod, next(folders).folder if mod.files else "") for mod in plan.mods]


def _file_name(name: str) -> str:
    """Return ``name`` with what any shell or file system could trip over replaced by ``-``."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)
