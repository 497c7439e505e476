"""Who may log in to a node: accounts, keys and the configuration of its sshd."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .system import LabError, run

USER = "spark"
UID = 1000

SSHD_CONFIG = """\
HostKey /lab/node/ssh_host_ed25519_key
AuthorizedKeysFile /lab/node/authorized_keys
PidFile /run/sshd.pid
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
LogLevel VERBOSE
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True)
class Login:
    """The login user of a node."""

    home: str = "/home/spark"
    shell: str = "/bin/bash"
    bashrc: str = ""

    def write(self, folder: Path) -> None:
        """Write what ``login.sh`` reads to the node's state folder; LabError for a home outside of /home."""
        if not self.home.startswith("/home/") or any(mark in self.home for mark in ":\n"):
            raise LabError(f"a home is below /home, which each node has for itself: {self.home!r}")
        others = [
            line
            for line in Path("/etc/passwd").read_text(encoding="utf-8").splitlines()
            if not 1000 <= int(line.split(":")[2]) < 60000
        ]
        groups = [
            line
            for line in Path("/etc/group").read_text(encoding="utf-8").splitlines()
            if line.split(":")[0] != "docker" and not 1000 <= int(line.split(":")[2]) < 60000
        ]
        # The login shell that sshd starts notes the command and becomes the real one.
        passwd = [*others, f"{USER}:x:{UID}:{UID}:DGX Spark:{self.home}:/lab/node/bin/login-shell"]
        taken = {int(line.split(":")[2]) for line in groups}
        docker = next(number for number in range(999, 100, -1) if number not in taken)
        group = [*groups, f"{USER}:x:{UID}:", f"docker:x:{docker}:{USER}"]
        # "*" is no password that could match; "!" would lock the account, and sshd refuses those.
        shadow = [f"{line.split(':')[0]}:*:20000:0:99999:7:::" for line in passwd]
        for file, lines in (("passwd", passwd), ("group", group), ("shadow", shadow)):
            (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "shadow").chmod(0o640)
        (folder / "home").write_text(self.home + "\n", encoding="utf-8")
        (folder / "shell").write_text(self.shell + "\n", encoding="utf-8")
        (folder / "bashrc").write_text(self.bashrc, encoding="utf-8")


def make_key(path: Path, comment: str) -> str:
    """Make an ed25519 key pair and return the public half."""
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])
    return path.with_name(path.name + ".pub").read_text(encoding="utf-8")


def write_server(folder: Path, name: str, authorized: Path) -> None:
    """Write the configuration and the keys of a node's sshd to its state folder."""
    (folder / "sshd_config").write_text(SSHD_CONFIG, encoding="utf-8")
    make_key(folder / "ssh_host_ed25519_key", f"root@{name}")
    shutil.copy(authorized, folder / "authorized_keys")
