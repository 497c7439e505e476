"""Uploads, with the real rsync and the real scripts: a release arrives whole, or the node is told apart from one."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import replace

import pytest

from sparkc.bundle.manifest import MANIFEST, FileEntry, to_bytes
from sparkc.errors import SparkcError
from sparkc.runner.group import Member
from sparkc.runner.processes import Processes
from sparkc.runner.secrets import Secrets
from sparkc.runner.ssh import Ssh
from sparkc.runner.target import make_target
from sparkc.runner.transfer import upload
from support.local_nodes import LocalNodes
from support.node_facts import manifest, rank

pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="there is no rsync")

FILES = {
    "rank-0-spark-1/compose.yaml": (b"services: {}\n", "0644"),
    "rank-0-spark-1/launch.sh": (b"exit\n", "0755"),
    "rank-0-spark-1/mods/01-it's ü $HOME/run.sh": (b"exit 1\n", "0755"),
    "rank-1-spark-2/compose.yaml": (b"another node's\n", "0644"),
}
GREETING = "Welcome to spark-1\nno line end"


class Upload:
    """A bundle on disk, its node, and the upload of its rank 0."""

    def __init__(self, nodes, folder, connection):
        self.nodes, self.folder = nodes, folder
        entries = tuple(FileEntry(p, hashlib.sha256(data).hexdigest(), mode) for p, (data, mode) in FILES.items())
        made = manifest(ranks=(rank(0, home=str(nodes.home("spark-1")), mounts=()),), files=entries)
        self.member = Member(made, made.ranks[0], connection)
        for path, (data, _) in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
            (folder / path).chmod(0o600)  # another umask, or an archive
        (folder / MANIFEST).write_bytes(to_bytes(made))

    def __call__(self, current=None, secrets=None, *, noisy=False, digest=None):
        if digest is not None:
            made = replace(self.member.manifest, group_digest=digest)
            self.member = replace(self.member, manifest=made)
            (self.folder / MANIFEST).write_bytes(to_bytes(made))
        upload(self.member, self.folder, current, secrets or Secrets(), noisy=noisy)

    def there(self, digest=None):
        """The files of the release on the node, with bytes and permission bits."""
        release = self.release(digest)
        return {
            path.relative_to(release).as_posix(): (path.read_bytes(), f"{path.stat().st_mode & 0o777:04o}")
            for path in release.rglob("*")
            if path.is_file()
        }

    def release(self, digest=None):
        return self.nodes.base("spark-1", "demo") / "releases" / (digest or self.member.manifest.group_digest)

    def wanted(self):
        files = {f"demo/{path}": content for path, content in FILES.items() if path.startswith("rank-0-")}
        return {**files, f"demo/{MANIFEST}": ((self.folder / MANIFEST).read_bytes(), "0644")}


@pytest.fixture
def send(tmp_path, monkeypatch):
    nodes = LocalNodes(tmp_path / "nodes", "spark-1")
    monkeypatch.setenv("PATH", nodes.path)
    with Ssh(Processes()) as ssh:
        yield Upload(nodes, tmp_path / "my project/out/demo", ssh.connect(make_target("spark-1", "spark-1", "spark")))


def test_the_rank_of_the_node_arrives_with_bytes_and_modes(send):
    send()

    assert send.there() == send.wanted()
    assert [path.name for path in send.release().parent.iterdir()] == [send.release().name]
    assert {path.stat().st_mode & 0o777 for path in send.release().rglob("*") if path.is_dir()} == {0o755}


def test_other_secrets_wait_for_the_next_start(send):
    """Until then a container runs with the first ones, which the next look at the node must find."""
    send(secrets=Secrets({"HF_TOKEN": "hf_1"}))
    send(secrets=Secrets({"HF_TOKEN": "hf_2"}))

    assert send.there()[".sparkc-secrets.env"] == (b"HF_TOKEN=hf_1\n", "0600")
    assert send.there()[".sparkc-secrets.next"] == (b"HF_TOKEN=hf_2\n", "0600")


def test_secrets_come_along_as_a_file_of_its_own(send):
    send(secrets=Secrets({"HF_TOKEN": "hf_1"}))

    assert send.there() == {**send.wanted(), ".sparkc-secrets.env": (b"HF_TOKEN=hf_1\n", "0600")}


def test_a_greeting_of_the_login_shell_does_no_harm(send):
    send.nodes.greet("spark-1", GREETING)

    send(noisy=True)

    assert send.there() == send.wanted()


def test_files_that_did_not_change_are_shared_with_the_current_release(send):
    send()
    before = send.release()
    send(current=before.name, digest="e" * 64)

    same = "demo/rank-0-spark-1/launch.sh"
    assert send.there() == send.wanted()
    assert (send.release() / same).stat().st_ino == (before / same).stat().st_ino
    assert (send.release() / "demo/bundle.json").read_bytes() != (before / "demo/bundle.json").read_bytes()


def test_equal_size_and_time_do_not_pass_for_the_same_file(send):
    send()
    damaged = send.release() / "demo/rank-0-spark-1/launch.sh"
    times = damaged.stat()
    damaged.write_bytes(b"EXIT\n")
    os.utime(damaged, ns=(times.st_atime_ns, times.st_mtime_ns))

    send(current=send.release().name, digest="e" * 64)

    assert send.there() == send.wanted()


def test_a_release_that_was_changed_on_the_node_is_made_whole_again(send):
    send()
    (send.release() / "demo/rank-0-spark-1/launch.sh").write_text("echo changed\n")
    (send.release() / "demo/rank-0-spark-1/.env").write_text("COMPOSE_FILE=other.yaml\n")

    send(current=send.release().name)

    assert send.there() == send.wanted()


def test_what_a_killed_upload_left_is_swept(send):
    left = send.release().parent / ".incoming-abc-0"
    left.mkdir(parents=True)
    (left / "half").write_text("x")

    send()

    assert [path.name for path in send.release().parent.iterdir()] == [send.release().name]


def test_what_differs_from_the_manifest_is_refused_by_name(send):
    (send.folder / "rank-0-spark-1/launch.sh").write_text("echo changed since\n")
    (send.folder / "rank-0-spark-1/more").write_text("x")

    with pytest.raises(SparkcError) as caught:
        send()

    assert caught.value.message == "what arrived is not what was sent"
    assert caught.value.output.split("\n") == [
        "rank-0-spark-1/launch.sh",
        "rank-0-spark-1/more (does not belong there)",
    ]
    assert not send.release().exists()


def test_a_node_without_rsync_is_told(send):
    bash = send.nodes.folder / "bin/bash"
    bash.write_text(
        "#!/bin/sh\n"
        "case $2 in *--server*) echo 'bash: rsync: command not found' >&2; exit 127;; esac\n"
        'exec /bin/bash "$@"\n'
    )
    bash.chmod(0o755)

    with pytest.raises(SparkcError) as caught:
        send()

    assert caught.value.host == "spark-1"
    assert "apt-get install rsync" in caught.value.hint
