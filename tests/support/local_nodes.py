"""Nodes for tests without a network: a stand-in for ssh that runs everything on this machine, each host in a home of
its own, and a stand-in for docker that knows no container but those that a test tells of.
"""

from __future__ import annotations

import os
from pathlib import Path

_SSH = """\
#!/bin/bash
nodes=${0%/*/*}
while [[ $1 == -* ]]; do
  case $1 in
    -M | -N) master=yes; shift ;;
    *) shift 2 ;;
  esac
done
if [ -e "$nodes/$1/.off" ]; then
  echo "ssh: connect to host $1 port 22: No route to host" >&2
  exit 255
fi
[ -z "$master" ] || exit 0
export HOME=$nodes/$1
shift
cat "$HOME/.greeting" 2>/dev/null
exec bash -c "$*"
"""
_DOCKER = """\
#!/bin/bash
[ ! -e "$HOME/.docker-off" ] || exit 1
case "$*" in
*working_dir*) cat "$HOME/.working-dirs" 2>/dev/null || true ;;
info*) printf '/\\nversion\\t28.3.0\\nengine\\t%s\\n' "$HOME" ;;
esac
"""


class LocalNodes:
    """The homes of nodes below ``folder``, by host name."""

    def __init__(self, folder: Path, *hosts: str) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name, text in (("ssh", _SSH), ("docker", _DOCKER)):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        for host in hosts:
            (folder / host).mkdir()
        self.path = f"{folder / 'bin'}:{os.environ['PATH']}"

    def home(self, host: str) -> Path:
        return self.folder / host

    def base(self, host: str, bundle: str) -> Path:
        """Where a bundle lies on a node."""
        return self.home(host) / ".local/share/sparkc" / bundle

    def switch_off(self, host: str) -> None:
        (self.home(host) / ".off").touch()

    def stop_docker(self, host: str) -> None:
        (self.home(host) / ".docker-off").touch()

    def greet(self, host: str, text: str) -> None:
        """Let the login shell print something first, as a chatty .bashrc does."""
        (self.home(host) / ".greeting").write_text(text)

    def put_container(self, host: str, folder: Path) -> None:
        """Tell of a container of the bundle that Compose started in ``folder``."""
        (self.home(host) / ".working-dirs").write_text(f"{folder}\n")

    def put_release(self, host: str, bundle: str, digest: str, deployed: int | None) -> Path:
        release = self.base(host, bundle) / "releases" / digest
        (release / bundle).mkdir(parents=True)
        (release / bundle / "bundle.json").write_text("{}")
        if deployed is not None:
            (release / "deployed").write_text(f"{deployed}\n")
        return release

    def link(self, host: str, bundle: str, name: str, digest: str) -> None:
        (self.base(host, bundle) / name).symlink_to(f"releases/{digest}")

    def kept(self, host: str, bundle: str) -> set[str]:
        return {path.name for path in (self.base(host, bundle) / "releases").iterdir()}
