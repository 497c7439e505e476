"""The folder of a run's control sockets."""

import os
import subprocess

from sparkc.runner import ssh
from sparkc.runner.processes import Processes


def test_the_folder_of_a_killed_run_is_swept_and_that_of_a_living_one_is_not(monkeypatch, tmp_path):
    monkeypatch.setattr(ssh, "_SOCKETS", str(tmp_path))
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    (tmp_path / f"sparkc-{gone.pid}-x").mkdir()
    (tmp_path / f"sparkc-{os.getpid()}-y").mkdir()
    (tmp_path / "sparkc-notes-z").mkdir()

    with ssh.Ssh(Processes()):
        assert len(list(tmp_path.iterdir())) == 3

    assert sorted(path.name for path in tmp_path.iterdir()) == [f"sparkc-{os.getpid()}-y", "sparkc-notes-z"]
