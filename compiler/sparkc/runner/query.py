"""What a look at a node asks about: written from a rank of a bundle, or for a node that has none."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.record import dataclass

_HUGGINGFACE = "/root/.cache/huggingface"


@dataclass(frozen=True)
class ModelPlace:
    """Where a model lies on the node: a repository's folder in a cache (``hub``), or the files themselves."""

    model: str
    hub: bool
    folder: str
    revision: str = ""


@dataclass(frozen=True)
class Query:
    """What to find out beside what is always found out.

    ``home`` None means the login user's own. Listeners of ``ports`` are named, ``paths`` are described; ``interface``
    is the one that ``peers``, addresses of other nodes, are reached through.
    """

    home: str | None = None
    bundle: str | None = None
    image: str | None = None
    interface: str | None = None
    ports: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    models: tuple[ModelPlace, ...] = ()

    @staticmethod
    def bare(bundle: str | None, home: str | None = None) -> Query:
        """Return the query for what a node keeps of ``bundle``, without a manifest."""
        return Query(home, bundle)


def query(manifest: Manifest, rank: RankEntry, environment: Mapping[str, str] | None = None) -> Query:
    """Return what plan, deploy and doctor ask a rank's node; ``environment`` is the rank's rank.env."""
    return Query(
        home=rank.home,
        bundle=manifest.name,
        image=manifest.image,
        interface=rank.interface,
        ports=tuple(port["number"] for port in rank.ports),
        paths=tuple(mount["source"] for mount in rank.mounts),
        peers=peers(manifest.ranks, rank),
        models=tuple(_places(manifest, rank, environment or {})),
    )


def node_query(ranks: Sequence[RankEntry], rank: RankEntry) -> Query:
    """Return what doctor asks a node of the inventory, without a bundle."""
    return Query(home=rank.home, interface=rank.interface, peers=peers(ranks, rank))


def peers(ranks: Sequence[RankEntry], own: RankEntry) -> tuple[str, ...]:
    """Return the fabric addresses of the other ranks."""
    return tuple(rank.address for rank in ranks if rank.address is not None and rank.rank != own.rank)


def on_node(rank: RankEntry, path: str) -> str | None:
    """Return where a path of the container lies on the node, or None where no mount holds it."""
    sources = {mount["target"]: mount["source"] for mount in rank.mounts if "target" in mount}
    holding = [target for target in sources if path == target or path.startswith(target.rstrip("/") + "/")]
    if not holding:
        return None
    target = max(holding, key=len)
    return posixpath.join(sources[target], posixpath.relpath(path, target)).removesuffix("/.")


def hub_folder(rank: RankEntry, environment: Mapping[str, str]) -> str | None:
    """Return the folder of the Hugging Face cache on the node, or None where the container keeps it to itself."""
    inside = environment.get("HF_HUB_CACHE") or posixpath.join(environment.get("HF_HOME") or _HUGGINGFACE, "hub")
    return on_node(rank, inside)


def _places(manifest: Manifest, rank: RankEntry, environment: Mapping[str, str]) -> list[ModelPlace]:
    """Return the places of the models that are loaded from the node's disk."""
    if manifest.engine == "llama-cpp":
        return []  # it loads at its first start, into a cache with a layout of its own
    hub = hub_folder(rank, environment)
    places = []
    for model in manifest.models:
        name = model["name"] or ""
        if name.startswith("/"):
            folder = on_node(rank, name)
            if folder is not None:
                places.append(ModelPlace(name, hub=False, folder=folder))
        # A parent is the identity of a model that is loaded from a path, which the manifest does not tell.
        elif hub is not None and model["parent"] is None:
            folder = posixpath.join(hub, f"models--{name.replace('/', '--')}")
            places.append(ModelPlace(name, hub=True, folder=folder, revision=model["revision"] or ""))
    return places
