"""Whether a bundle is what git has in HEAD, and that looking at a repository runs nothing of it."""

from __future__ import annotations

import os
import subprocess

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.git_state import GitState, git_state


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )


def commit(folder, *options):
    git(folder, "add", "--all", "--force")
    git(folder, *options, "commit", "--quiet", "--message", "x")


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """out/tiny in a repository with one commit."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "project/out/tiny"
    (folder / "rank-0-a").mkdir(parents=True)
    (folder / "bundle.json").write_text("{}\n")
    (folder / "rank-0-a/launch.sh").write_text("exit\n")
    git(tmp_path / "project", "init", "--quiet")
    commit(tmp_path / "project")
    return folder


def test_a_committed_bundle_does_not_differ(bundle):
    (bundle.parent / "other").write_text("not of this bundle")

    assert git_state(bundle) == GitState()


def test_every_difference_is_named(bundle):
    (bundle / "bundle.json").write_text("{ }\n")
    (bundle / "rank-0-a/launch.sh").unlink()
    (bundle / "rank-1-ü b").mkdir()
    (bundle / "rank-1-ü b/launch.sh").write_text("exit\n")

    assert git_state(bundle).differs == (
        "bundle.json differs from the commit",
        "rank-1-ü b/launch.sh is not committed",
        "rank-0-a/launch.sh is committed, but not here",
    )


def test_a_name_that_a_terminal_would_obey_is_escaped(bundle):
    (bundle / "\x1b[2J\udcff").write_text("x")

    assert git_state(bundle).differs == ("\\x1b[2J\\udcff is not committed",)


def test_staged_is_not_committed(bundle):
    (bundle / "new").write_text("x")
    git(bundle, "add", "new")

    assert git_state(bundle).differs == ("new is not committed",)


def test_an_ignored_bundle_is_not_committed(bundle):
    (bundle / "new").write_text("x")
    (bundle.parents[1] / ".gitignore").write_text("out/\n")

    assert git_state(bundle).differs == ("new is not committed",)


def test_a_symlink_in_place_of_a_file_differs(bundle):
    (bundle / "copy.json").write_text("{}\n")
    (bundle / "bundle.json").unlink()
    (bundle / "bundle.json").symlink_to("copy.json")

    assert "bundle.json differs from the commit" in git_state(bundle).differs


def test_a_repository_without_a_commit_has_nothing_of_it(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "bundle.json").write_text("{}\n")

    assert "bundle.json is not committed" in git_state(tmp_path).differs


def test_hashes_of_a_sha256_repository(tmp_path):
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/bundle.json").write_text("{}\n")
    commit(tmp_path)

    assert git_state(tmp_path / "bundle") == GitState()


def test_outside_of_a_repository_it_is_a_note(tmp_path):
    state = git_state(tmp_path)

    assert state.differs == ()
    assert "is in no git repository" in state.note


def test_without_git_it_is_a_note(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "there is no git here" in git_state(tmp_path).note


def test_a_broken_repository_is_an_error_with_what_git_says(bundle):
    (bundle.parents[1] / ".git/config").write_text("[core\n")

    with pytest.raises(SparkcError) as caught:
        git_state(bundle)

    assert "bad config" in caught.value.output
    assert "--allow-dirty" in caught.value.hint


def test_variables_of_a_hook_lead_nowhere_else(bundle, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))

    assert git_state(bundle) == GitState()


def test_nothing_that_the_repository_names_is_run(bundle):
    trap = bundle.parents[1] / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {trap}.sprung\ncat\n")
    trap.chmod(0o755)
    (bundle.parents[1] / ".gitattributes").write_text("* filter=trap diff=trap\n")
    for key in (
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.process",
        "diff.trap.textconv",
        "core.pager",
        "pager.ls-tree",
        "core.sshCommand",
    ):
        git(bundle, "config", key, str(trap))
    (bundle / "bundle.json").write_text("{ }\n")

    assert git_state(bundle).differs == ("bundle.json differs from the commit",)
    assert not trap.with_name("trap.sprung").exists()
