"""Checks of the image: there on every node, the one that is pinned, the same everywhere, made for the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.runner.facts import Image, NodeFacts
from sparkc.runner.findings import Finding, Looked, Severity, on, table
from sparkc.runner.images import (
    fits_machine,
    grouped,
    image_architecture,
    pinned_digest,
    repository_digests,
    short,
)
from sparkc.runner.target import rank_target

# What an image may bring along that chooses the fabric: leaving a key out is then not neutral.
_FABRIC_KEYS = ("NCCL_", "GLOO_", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES", "OMPI_MCA_", "MN_IF_NAME", "VLLM_HOST_IP")
# Such a key that only tells about the image.
_HARMLESS = frozenset({"NCCL_VERSION"})


def check_images(
    manifest: Manifest, looked: Looked, environments: Mapping[int, Mapping[str, str]], *, require_pinned: bool
) -> Iterator[Finding]:
    """Yield what is wrong with the image on the nodes; ``environments`` are the rank.env by rank, as far as known."""
    images = {rank.rank: facts.image for rank, facts in looked if facts.image is not None}
    pinned = pinned_digest(manifest.image)
    for rank, facts in looked:
        image = facts.image
        if image is None:
            if facts.docker_error is None:
                yield _missing(manifest, rank, facts, looked)
            continue
        if not fits_machine(image, facts.architecture):
            yield Finding(
                "error",
                rank.node,
                f"the image {manifest.image} is for {image.os}/{image.architecture}, the node is "
                f"{image_architecture(facts.architecture)}",
                on(
                    rank,
                    "docker",
                    "pull",
                    "--platform",
                    f"linux/{image_architecture(facts.architecture)}",
                    manifest.image,
                ),
            )
        if pinned is not None and repository_digests(image) and pinned not in repository_digests(image):
            yield Finding(
                "error",
                rank.node,
                f"the image {manifest.image} is there under another digest: {', '.join(sorted(image.digests))}",
                on(rank, "docker", "pull", manifest.image),
            )
        if rank.rank in environments:
            yield from _baked(rank, image, environments[rank.rank])
    if pinned is None:
        yield from _unpinned(manifest, looked, images, require_pinned=require_pinned)


def _missing(manifest: Manifest, rank: RankEntry, facts: NodeFacts, looked: Looked) -> Finding:
    """Return the finding for an image that is not there, with the command that brings it.

    One without a digest is taken from a node that has it: pulled again, its tag may mean another one by now.
    """
    reference = manifest.image
    source = next((other for other, there in looked if there.image is not None and _same_machine(there, facts)), None)
    pull = on(rank, "docker", "pull", reference)
    if source is not None and pinned_digest(reference) is None:
        hint = f"ssh {rank_target(source).login} docker save {reference} | {on(rank, 'docker', 'load')}"
    elif "/" not in reference:
        hint = f"{reference} has the name of an image that somebody built: build it on {rank.node}, or on any node"
    else:
        hint = pull
    return Finding("error", rank.node, f"the image {reference} is not there, and is never pulled by a start", hint)


def _same_machine(a: NodeFacts, b: NodeFacts) -> bool:
    return a.architecture == b.architecture


def _unpinned(
    manifest: Manifest, looked: Looked, images: Mapping[int, Image], *, require_pinned: bool
) -> Iterator[Finding]:
    groups = grouped(images)
    names = {rank.rank: rank.node for rank, _ in looked}
    if len(groups) > 1:
        yield Finding(
            "error",
            None,
            f"the nodes have different images under the name {manifest.image}",
            f"bring one to all: docker pull {manifest.image} on each, or docker save on one and docker load on the "
            "others; pin it by digest so that it stays the same",
            table({names[key]: [short(images[key])] for key in images}),
        )
        return
    severity: Severity = "error" if require_pinned else "warning"
    digests = sorted({digest for image in images.values() for digest in image.digests})
    pin = f"write image: {digests[0]}" if digests else "push it to a registry, which gives it a digest"
    yield Finding(
        severity,
        None,
        f"the image {manifest.image} is not pinned by digest"
        + ("; it is the same on all nodes now" if len(images) > 1 else ""),
        f"{pin}, and compile again",
    )


def _baked(rank: RankEntry, image: Image, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Tell of variables in the image that choose the fabric and that the bundle does not set."""
    keys = {entry.partition("=")[0] for entry in image.environment}
    left = sorted(
        key for key in keys if key.startswith(_FABRIC_KEYS) and key not in environment and key not in _HARMLESS
    )
    if left:
        values = [entry for entry in image.environment if entry.partition("=")[0] in left]
        yield Finding(
            "warning",
            rank.node,
            f"the image itself sets {', '.join(sorted(values))}, and the bundle does not override it",
            f"set it in the recipe's or the node's env: {', '.join(left)}",
        )
