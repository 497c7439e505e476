"""bundle.json: what a bundle is, for ``compile --check`` and ``--all``, for pruning, and for the runner.

sparkc's version is left out on purpose: a new version that renders the same files leaves a bundle untouched,
so an upgrade shows up in a diff only where it changes something.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkc.bundle.model import BundleFile
from sparkc.bundle.quoting import escape_invisible
from sparkc.planning.model import Plan, RankPlan
from sparkc.record import dataclass

MANIFEST = "bundle.json"
_compact = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True)
class FileEntry:
    """One file of the bundle except bundle.json itself. ``mode`` is "0644" or "0755"."""

    path: str
    sha256: str
    mode: str


@dataclass(frozen=True)
class RankEntry:
    """One rank, with what the runner needs to reach, check and start it even after the inventory changed.

    ``address`` is on the fabric, ``transfer`` an address for copies. ``mounts`` lists every source that must exist,
    those with ``create`` are made by the runner. ``health`` tells that the container has a health check;
    ``deep_probe`` is the path of a one-token completion.
    """

    rank: int
    node: str
    role: str
    folder: str
    ssh: str
    user: str
    home: str
    address: str | None
    transfer: str | None
    interface: str | None
    hcas: tuple[str, ...]
    ports: tuple[Mapping[str, Any], ...]
    mounts: tuple[Mapping[str, Any], ...]
    health: bool
    deep_probe: str | None
    wave: int
    digest: str


@dataclass(frozen=True)
class Manifest:
    """A whole bundle.json.

    ``recipe`` and ``inventory`` are {"path"}, relative to the project, or {"name", "sha256"} for a file from
    outside it; an inventory without a file is {"builtin"} or {"ad-hoc"} with its name. ``waves`` lists the ranks
    that start together, in starting order. ``gid`` is None for "auto". ``ready_timeout`` is in seconds.
    """

    name: str
    recipe: Mapping[str, str]
    inventory: Mapping[str, str]
    overrides: Mapping[str, Any]
    engine: str
    image: str
    models: tuple[Mapping[str, str | None], ...]
    api_port: int | None
    client_url: str | None
    ready_timeout: int
    links: Mapping[str, str]
    secrets: tuple[str, ...]
    topology: str
    gid: int | None
    waves: tuple[tuple[int, ...], ...]
    ranks: tuple[RankEntry, ...]
    files: tuple[FileEntry, ...]
    group_digest: str


_RECORDS = (RankEntry, FileEntry)
_NESTING = (dict, list, tuple, *_RECORDS)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in hex."""
    return hashlib.sha256(data).hexdigest()


def entries(files: Iterable[BundleFile]) -> tuple[FileEntry, ...]:
    """Return the manifest's entries for ``files``, sorted by path."""
    return tuple(sorted((FileEntry(f.path, sha256(f.data), f"{f.mode:04o}") for f in files), key=lambda e: e.path))


def files_digest(files: Iterable[BundleFile]) -> str:
    """Return one digest over paths, modes and bytes of ``files``, independent of their order."""
    return sha256(json.dumps([[e.path, e.mode, e.sha256] for e in entries(files)]).encode())


def make_manifest(
    plan: Plan, folders: Mapping[int, str], digests: Mapping[int, str], files: Iterable[BundleFile]
) -> Manifest:
    """Return the manifest of a rendered plan; ``folders`` and ``digests`` are by rank number."""
    first = plan.ranks[0]
    inventory = plan.inventory
    return Manifest(
        name=plan.name,
        recipe=_recipe_record(plan),
        inventory=_inventory_record(plan),
        overrides=dict(plan.overrides),
        engine=plan.engine,
        image=first.container.image.value,
        models=tuple(_models(plan)),
        api_port=plan.api_port.value if plan.api_port else None,
        client_url=plan.client_url,
        ready_timeout=plan.ready_timeout,
        links=dict(plan.recipe.links),
        secrets=tuple(secret.value for secret in plan.secrets),
        topology=inventory.topology.value,
        gid=inventory.gid.value if inventory.gid else None,
        waves=waves(plan.ranks),
        ranks=tuple(_rank_entry(rank, folders[rank.rank], digests[rank.rank]) for rank in plan.ranks),
        files=entries(files),
        group_digest=sha256("\n".join(digests[rank.rank] for rank in plan.ranks).encode()),
    )


def waves(ranks: Sequence[RankPlan]) -> tuple[tuple[int, ...], ...]:
    """Return the rank numbers that start together, in starting order."""
    numbers = sorted({rank.wave for rank in ranks})
    return tuple(tuple(rank.rank for rank in ranks if rank.wave == number) for number in numbers)


def _recipe_record(plan: Plan) -> dict[str, str]:
    if plan.recipe_sha256 is None:
        return {"path": plan.recipe_path}
    return {"name": plan.recipe_path.rpartition("/")[2], "sha256": plan.recipe_sha256}


def _inventory_record(plan: Plan) -> dict[str, str]:
    if plan.inventory_path is not None:
        return {"path": plan.inventory_path}
    inventory = plan.inventory
    if inventory.kind == "file":
        source = inventory.source
        return {"name": source.name.rpartition("/")[2], "sha256": sha256(source.text.encode())}
    return {"builtin" if inventory.kind == "example" else inventory.kind: inventory.name}


def _models(plan: Plan) -> Iterable[dict[str, str | None]]:
    recipe = plan.recipe
    for position, model in enumerate(plan.models):
        main = position == 0
        yield {
            "name": model.value,
            "revision": plan.revision.value if main and plan.revision else None,
            "parent": recipe.parent_model.value if main and recipe.parent_model else None,
        }


def _rank_entry(rank: RankPlan, folder: str, digest: str) -> RankEntry:
    node = rank.node
    return RankEntry(
        rank=rank.rank,
        node=node.name.value,
        role=rank.role,
        folder=folder,
        ssh=node.ssh.value,
        user=node.user.value,
        home=node.home.value,
        address=node.address.value if node.address else None,
        transfer=node.transfer.value if node.transfer else None,
        interface=node.interface.value if node.interface else None,
        hcas=tuple(hca.value for hca in node.hcas),
        ports=tuple({"name": port.name, "number": port.number} for port in rank.ports),
        mounts=tuple(
            {"source": mount.source.value, "target": mount.target.value, "create": mount.create}
            for mount in rank.mounts
        ),
        health=rank.probe is not None,
        deep_probe=rank.deep_probe,
        wave=rank.wave,
        digest=digest,
    )


def to_bytes(manifest: Manifest) -> bytes:
    """Return bundle.json's bytes: keys in the order of :class:`Manifest`, which is the order to read them in.

    What holds no other list or mapping is one line, such as a file: a diff shows one line for it. Invisible
    characters are escaped, so that the text is also exact for a YAML reader, which ours is.
    """
    text = _json({"sparkc_bundle": 1, **_fields(manifest)}, "")
    return (escape_invisible(text) + "\n").encode()


def _json(value: object, indent: str) -> str:
    if isinstance(value, _RECORDS):
        value = _fields(value)
    members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    if not any(isinstance(member, _NESTING) for member in members):
        return _compact(value)
    inner = f"{indent}  "
    separator = f",\n{inner}"
    if isinstance(value, dict):
        rows = (f"{_compact(key)}: {_json(member, inner)}" for key, member in value.items())
        return f"{{\n{inner}{separator.join(rows)}\n{indent}}}"
    return f"[\n{inner}{separator.join(_json(member, inner) for member in members)}\n{indent}]"


def _fields(record: Manifest | RankEntry | FileEntry) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__match_args__}


def from_data(data: Mapping[str, Any]) -> Manifest:
    """Return the manifest that the parsed, schema-checked ``data`` describes."""
    values = {key: value for key, value in data.items() if key != "sparkc_bundle"}
    values["models"] = tuple(values["models"])
    values["secrets"] = tuple(values["secrets"])
    values["waves"] = tuple(tuple(wave) for wave in values["waves"])
    values["ranks"] = tuple(
        RankEntry(**rank | {key: tuple(rank[key]) for key in ("hcas", "ports", "mounts")}) for rank in values["ranks"]
    )
    values["files"] = tuple(FileEntry(**entry) for entry in values["files"])
    return Manifest(**values)
