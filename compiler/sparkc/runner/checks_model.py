"""Checks of what a rank mounts: sources that exist, caches that the login user owns, models that are complete."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from shlex import join, quote

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.runner.facts import Mount, NodeFacts, Snapshot
from sparkc.runner.findings import Finding, Looked, on, on_shell, table
from sparkc.runner.query import ModelPlace, query

_SHARED = ("nfs", "cifs", "smb2", "fuseblk", "ceph", "lustre", "9p")
_HUGGINGFACE = "/root/.cache/huggingface"
_SHOWN = 5


def check_mounts(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    """Yield what is wrong with the sources of a rank's mounts."""
    for mount, found in zip(rank.mounts, facts.mounts, strict=False):
        if found.kind is None:
            yield from _no_source(rank, facts, mount, found)
        elif mount["create"] and found.kind != "directory":
            yield Finding("error", rank.node, f"{found.source} is no directory, but a {found.kind}", "move it away")
        elif mount["create"] and not found.writable:
            yield Finding(
                "warning",
                rank.node,
                f"{found.source} belongs to {found.owner}: {facts.user} cannot download into it or clean it up",
                on(rank, "sudo", "chown", "-R", facts.user, found.source, terminal=True),
            )
        if mount["create"] and mount.get("target") != _HUGGINGFACE and (found.filesystem or "").startswith(_SHARED):
            yield Finding(
                "warning",
                rank.node,
                f"{found.source} is on {found.filesystem}: caches of compiled kernels break where nodes share them",
                "give `caches:` a folder on the node's own disk in the inventory; weights may stay on the share",
            )


def _no_source(rank: RankEntry, facts: NodeFacts, mount: Mapping[str, object], found: Mount) -> Iterator[Finding]:
    source = found.source
    if not mount["create"]:
        yield Finding(
            "error",
            rank.node,
            f"{source} is not there, which the container mounts",
            f"bring it there, or make an empty folder: {on(rank, 'mkdir', '-p', source)}",
        )
    elif not found.creatable:
        make = f"sudo mkdir -p {quote(source)} && sudo chown {quote(facts.user)} {quote(source)}"
        yield Finding(
            "error",
            rank.node,
            f"{source} is not there, and {facts.user} cannot make it: the folder above belongs to {found.owner}",
            on_shell(rank, make, terminal=True),
        )


def check_models(
    manifest: Manifest, looked: Looked, environments: Mapping[int, Mapping[str, str]]
) -> Iterator[Finding]:
    """Yield what is missing of the models on the nodes, and where nodes hold different revisions."""
    if manifest.engine == "llama-cpp":
        yield Finding("note", None, "llama.cpp downloads its model at its first start, if it is not there already")
    revisions: dict[str, dict[str, str]] = {}
    for rank, facts in looked:
        environment = environments.get(rank.rank, {})
        for place, snapshot in zip(query(manifest, rank, environment).models, facts.models, strict=False):
            yield from _model(rank, facts, place, snapshot)
            if place.hub and snapshot.revision:
                revisions.setdefault(place.model, {})[rank.node] = snapshot.revision
    for model, found in revisions.items():
        if len(set(found.values())) > 1:
            yield Finding(
                "error",
                None,
                f"the nodes have different revisions of {model}",
                "add the revision to the recipe and compile again, or download the model anew on every node",
                table({node: [revision] for node, revision in found.items()}),
            )


def _model(rank: RankEntry, facts: NodeFacts, place: ModelPlace, snapshot: Snapshot) -> Iterator[Finding]:
    complete = snapshot.revision is not None and not snapshot.missing
    if complete:
        return
    if snapshot.revision is None:
        at = f" at revision {place.revision}" if place.revision else ""
        what = f"the model {place.model}{at} is not in {place.folder}"
    else:
        shown = ", ".join(snapshot.missing[:_SHOWN])
        more = f" and {len(snapshot.missing) - _SHOWN} more" if len(snapshot.missing) > _SHOWN else ""
        what = f"the model {place.model} is not complete: {shown}{more} of {place.folder} missing"
    if not place.hub:
        yield Finding("error", rank.node, what, f"bring it to {place.folder}")
        return
    download = _download(rank, place)
    if snapshot.owner not in (None, facts.user) and facts.uid != 0:
        # An engine that runs as root in its container leaves files that the login user cannot replace.
        own = join(["sudo", "chown", "-R", facts.user, place.folder])
        yield Finding("error", rank.node, what, on_shell(rank, f"{own} && {join(download)}", terminal=True))
    else:
        yield Finding("error", rank.node, what, on(rank, *download))


def _download(rank: RankEntry, place: ModelPlace) -> list[str]:
    words = ["hf", "download", place.model]
    if place.revision:
        words += ["--revision", place.revision]
    hub = posixpath.dirname(place.folder)
    if hub != f"{rank.home}/.cache/huggingface/hub":
        words += ["--cache-dir", hub]
    return words
