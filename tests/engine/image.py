"""``sparkc-lab/engine:1``: the machine's distribution with its Python, and ``vllm``, a link to where it is mounted."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from lab.image import Image, layer_of
from lab.requirements import program
from lab.system import SYSTEM_ENV, LabError

from .cache import kept
from .vllm_cpu import environment

TAG = "sparkc-lab/engine:1"

# Beside Python with its libraries: what the wheels load. There is no compiler, as in many serving images.
_PACKAGES = ("python3", "libgomp1", "libnuma1", "libstdc++6")
_LEFT_OUT = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man", "dev")


def engine() -> Image:
    """Return the image; its files are made when they are not there (a minute, 190 MB)."""
    # The program is a link: the environment is mounted, at the path that it has on this machine.
    links = layer_of([], [("usr/local/bin/vllm", f"{environment()}/bin/vllm")])
    return Image(TAG, (kept(f"{_suite()}.tar", _make), links))


def _suite() -> str:
    try:
        return platform.freedesktop_os_release()["VERSION_CODENAME"]
    except (OSError, KeyError):
        raise LabError("the engine's image is made by debootstrap: it needs Debian or Ubuntu") from None


def _make(path: Path) -> None:
    """Write the files of a small system of this machine's distribution and release, as one layer."""
    debootstrap = program("debootstrap")
    if debootstrap is None:
        raise LabError(
            "the engine's image needs a package; type: apt-get install -y --no-install-recommends debootstrap"
        )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        arguments = ["--variant=minbase", f"--include={','.join(_PACKAGES)}", _suite(), str(root)]
        subprocess.run(
            [debootstrap, *arguments], env={**os.environ, **SYSTEM_ENV}, stdout=subprocess.DEVNULL, check=True
        )
        for name in _LEFT_OUT:
            shutil.rmtree(root / name, ignore_errors=True)
        with tarfile.open(path, "w") as archive:
            archive.add(root, arcname=".")
