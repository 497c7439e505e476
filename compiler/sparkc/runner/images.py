"""When an image on two nodes is the same one.

Never by ``Id``: an image store based on containerd gives the digest of a manifest there, the older one that of the
configuration (https://docs.docker.com/engine/storage/containerd/). Repository digests decide where both nodes have
some in common; ``docker load`` loses them, and a registry's compressed layers differ from loaded ones, so that the
content decides otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sparkc.runner.facts import Image

K = TypeVar("K")

# uname's names → those of images
_ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}


def repository_digests(image: Image) -> frozenset[str]:
    """Return the digests under which registries know the image, without the names of the repositories."""
    return frozenset(digest.rpartition("@")[2] for digest in image.digests if "@" in digest)


def pinned_digest(reference: str) -> str | None:
    """Return the digest that an image reference names, or None."""
    digest = reference.rpartition("@")[2]
    return digest if "@" in reference and digest.startswith("sha256:") else None


def same_image(a: Image, b: Image) -> bool:
    """Return whether containers of both images hold the same files and variables."""
    if repository_digests(a) & repository_digests(b):
        return True
    return bool(a.layers) and (a.layers, a.environment, a.architecture) == (b.layers, b.environment, b.architecture)


def grouped(images: Mapping[K, Image]) -> list[list[K]]:
    """Return the keys of the images, those of the same image together, in the order of ``images``."""
    groups: list[list[K]] = []
    for key, image in images.items():
        group = next((group for group in groups if same_image(images[group[0]], image)), None)
        if group is None:
            groups.append([key])
        else:
            group.append(key)
    return groups


def fits_machine(image: Image, machine: str) -> bool:
    """Return whether a node of ``machine``, as uname names it, runs the image."""
    return image.architecture in ("", machine, _ARCHITECTURES.get(machine, machine)) and image.os in ("", "linux")


def image_architecture(machine: str) -> str:
    """Return what images call a ``machine``."""
    return _ARCHITECTURES.get(machine, machine)


def short(image: Image) -> str:
    """Return what tells an image from another in a table."""
    digests = sorted(repository_digests(image))
    return digests[0][:19] if digests else f"no digest, layers {' '.join(layer[7:13] for layer in image.layers[-2:])}"
