"""Container images as archives that ``docker load`` takes, made without a daemon, a network or a distribution.

Made of files alone, the same image has the same id on every node.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

# Debian's and Docker's names of the machine's architecture.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def architecture() -> str:
    """Return this machine's architecture by Docker's name."""
    machine = os.uname().machine
    return ARCHITECTURES.get(machine, machine)


@dataclass(frozen=True)
class Image:
    """An image: its layers (tar archives, the lowest first) and what its configuration says."""

    tag: str
    layers: tuple[Path | bytes, ...]
    architecture: str = field(default_factory=architecture)
    env: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    workdir: str = "/workspace"

    def config(self) -> bytes:
        """Return the configuration; its sha256 is the image's id."""
        settings = {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *self.env],
            "WorkingDir": self.workdir,
            "Labels": dict(self.labels),
            "Cmd": ["sh"],
        }
        return json.dumps(
            {
                "architecture": self.architecture,
                "os": "linux",
                "created": "2026-01-01T00:00:00Z",
                "config": settings,
                "rootfs": {"type": "layers", "diff_ids": [_digest(layer) for layer in self.layers]},
                "history": [{"created_by": "sparkc lab"} for _ in self.layers],
            },
            sort_keys=True,
        ).encode()

    @property
    def id(self) -> str:
        """The image's id, as an engine without containerd's image store shows it."""
        return f"sha256:{hashlib.sha256(self.config()).hexdigest()}"

    def archive(self) -> bytes:
        """Return the image as an archive for ``docker load``."""
        config = f"{self.id.partition(':')[2]}.json"
        layers = {f"layer-{number}/layer.tar": layer for number, layer in enumerate(self.layers)}
        manifest = [{"Config": config, "RepoTags": [self.tag], "Layers": list(layers)}]
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, layer in layers.items():
                _add(archive, name, layer if isinstance(layer, bytes) else layer.read_bytes())
            _add(archive, config, self.config())
            _add(archive, "manifest.json", json.dumps(manifest).encode())
        return buffer.getvalue()


def layer_of(files: Iterable[tuple[str, bytes, int]], links: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return a layer with these files (path, content, mode) and symbolic links (path, target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, content, mode in sorted(files):
            _add(archive, path.lstrip("/"), content, mode)
        for path, target in sorted(links):
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)  # no times, root's: the same content gives the same bytes
    entry.size, entry.mode = len(content), mode
    if mode & 0o40000:
        entry.type, entry.size, entry.mode = tarfile.DIRTYPE, 0, mode & 0o7777
    archive.addfile(entry, io.BytesIO(content))


@cache
def _digest(layer: Path | bytes) -> str:
    """Return a layer's digest; a file's content never changes under its name, and is big."""
    return f"sha256:{hashlib.sha256(layer if isinstance(layer, bytes) else layer.read_bytes()).hexdigest()}"
