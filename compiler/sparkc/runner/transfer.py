"""A bundle's rank folder onto its node, whole and as compiled, or not at all.

rsync brings it into a folder of its own, the node's own sha256sum compares it with bundle.json, and a rename puts it
in its place. Nothing that runs is touched.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sparkc.bundle.manifest import MANIFEST, FileEntry, sha256
from sparkc.errors import SparkcError
from sparkc.runner.group import Member
from sparkc.runner.node_script import node_script
from sparkc.runner.secrets import Secrets
from sparkc.runner.ssh import last_lines
from sparkc.runner.ssh_faults import connection_error

_UPLOAD_SECONDS = 600.0
# rsync's own codes: 12 is a broken stream, 20 a signal, 30 and 35 time-outs, 255 what ssh gives.
_CONNECTION_CODES = (12, 20, 30, 35, 255)
# Whose own words tell another cause than the connection: it broke since the other side ended.
_OTHER_CAUSES = ("No space left", "protect-args", "command not found")


def upload(member: Member, folder: Path, current: str | None, secrets: Secrets, *, noisy: bool) -> None:
    """Bring the rank's folder of the bundle in ``folder`` to its node as a release, with its secrets.

    ``current`` is the digest of a release on the node that unchanged files are taken from. ``noisy``: the login shell
    prints where no terminal is, which rsync alone cannot bear.

    Raises:
        SparkcError: the connection was lost, the disk is full, what arrived is not what was sent.
        Interrupted: the run was interrupted.
    """
    digest = member.manifest.group_digest
    incoming = f"{member.layout.releases}/.incoming-{digest}-{member.number}"
    prepare(member, incoming)
    _rsync(member, folder, incoming, current, noisy=noisy)
    _adopt(member, incoming, _own_files(member, folder), secrets)


def prepare(member: Member, incoming: str = "") -> None:
    """Make sparkc's folders on the node, and the sources of mounts that are to be made, as the login user.

    Raises:
        SparkcError: a folder cannot be made; the message has mkdir's words, which name it.
    """
    made = [mount["source"] for mount in member.rank.mounts if mount["create"]]
    script = node_script("prepare", RELEASES=member.layout.releases, INCOMING=incoming, MADE=made)
    reply = member.connection.run(script)
    if reply.code != 0:
        login = member.connection.target.login
        raise SparkcError(
            "a folder cannot be made",
            host=member.node,
            output=last_lines(reply.sections.get("said", "")),
            hint=f"make it by hand, so that {member.rank.user} may write into it: ssh {login}",
        )


def give_secrets(member: Member, secrets: Secrets) -> None:
    """Bring new secrets to a release that is there already.

    Raises:
        SparkcError: they cannot be written.
    """
    _adopt(member, "", (), secrets)


def _own_files(member: Member, folder: Path) -> tuple[FileEntry, ...]:
    """Return what belongs on the node: the rank's files, and bundle.json, which does not list itself."""
    own = tuple(entry for entry in member.manifest.files if entry.path.startswith(f"{member.rank.folder}/"))
    return (*own, FileEntry(MANIFEST, sha256((folder / MANIFEST).read_bytes()), "0644"))


def _rsync(member: Member, folder: Path, incoming: str, current: str | None, *, noisy: bool) -> None:
    connection = member.connection
    name = member.manifest.name
    linked = [] if current is None else [f"--link-dest={member.layout.release(current)}/{name}"]
    argv = [
        "rsync",
        "--recursive",
        "--checksum",
        # Paths reach the other side as they are, whatever its shell makes of spaces, ~ or $HOME.
        "--protect-args",
        # Who cloned the repository with which umask must not matter. adopt.sh sets the files' modes: with --perms,
        # rsync would not share an executable file with the current release, since all are sent as 0644.
        "--chmod=D755,F644",
        "--exclude=.sparkc-*",
        "--timeout=30",
        *linked,
        f"--rsh={_quiet_shell(connection.rsync_shell()) if noisy else connection.rsync_shell()}",
        "--",
        str(folder.resolve() / MANIFEST),
        str(folder.resolve() / member.rank.folder),
        f"{connection.rsync_host}:{incoming}/{name}/",
    ]
    try:
        done = connection.processes.run(argv, timeout=_UPLOAD_SECONDS)
    except FileNotFoundError:
        raise SparkcError(
            "there is no rsync on this machine", hint="install rsync 3 (macOS: brew install rsync)"
        ) from None
    except TimeoutError:
        raise connection_error(connection.target, f"no end within {_UPLOAD_SECONDS:.0f} s", "upload") from None
    if done.code == 0:
        return
    said = done.stderr.decode(errors="replace")
    if done.code in _CONNECTION_CODES and not any(cause in said for cause in _OTHER_CAUSES):
        raise connection_error(connection.target, said, "upload")
    raise SparkcError(
        "the upload failed",
        command="rsync",
        host=member.node,
        exit_code=done.code,
        output=last_lines(said),
        hint=_upload_hint(said, member),
    )


def _upload_hint(said: str, member: Member) -> str:
    login = member.connection.target.login
    if "No space left" in said or "quota" in said.lower():
        return f"make room on the node, then deploy again: ssh {login} df -h {member.layout.root}"
    if "unknown option" in said or "unrecognized option" in said:
        return f"rsync 3 is needed on both sides; compare: rsync --version; ssh {login} rsync --version"
    if "command not found" in said or "No such file" in said:
        return f"is rsync on the node? ssh {login} sudo apt-get install rsync"
    return f"look at the node: ssh {login} ls -la {member.layout.base}"


def _quiet_shell(shell: str) -> str:
    """Return rsync's ``--rsh`` for a login shell that prints, see :mod:`sparkc.runner.quiet_shell`."""
    return f"{_word(sys.executable)} -m sparkc.runner.quiet_shell {shell}"


def _word(text: str) -> str:
    """Quote a word as rsync splits ``--rsh``: like a shell, but a quote within quotes is doubled."""
    return "'" + text.replace("'", "''") + "'" if any(c in " '\"" for c in text) else text


def _adopt(member: Member, incoming: str, files: tuple[FileEntry, ...], secrets: Secrets) -> None:
    script = node_script(
        "adopt",
        INCOMING=incoming,
        RELEASE=member.layout.release(member.manifest.group_digest),
        BUNDLE=member.manifest.name,
        FOLDER=member.rank.folder,
        FILES=[entry.path for entry in files],
        HASHES=[entry.sha256 for entry in files],
        MODES=[entry.mode for entry in files],
        SECRETS=secrets.text,
        HAVE_SECRETS="yes" if secrets.text else "",
    )
    reply = member.connection.run(script)
    if reply.code == 0:
        return
    if reply.code == 11:
        raise SparkcError(
            "what arrived is not what was sent",
            host=member.node,
            output=last_lines(reply.sections.get("wrong", "")),
            hint="deploy again; if it happens twice, the node's disk is at fault",
        )
    said = reply.sections.get("said", reply.sections.get("wrong", ""))
    raise SparkcError(
        "the release cannot be put in its place",
        host=member.node,
        output=last_lines(said),
        hint=_upload_hint(said, member),
    )
