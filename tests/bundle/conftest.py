import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from plan_factory import plan, rank

from sparkc.bundle.render import render


@pytest.fixture(scope="session")
def compose():
    """Return the command of the real Compose, which reads files without a Docker daemon."""
    beside = Path(sys.executable).with_name("docker-compose")
    return str(beside) if beside.is_file() else shutil.which("docker-compose")


@pytest.fixture
def unpack(tmp_path):
    """Return a function that writes rendered files to disk, modes included, and returns their folder."""

    def write(files, name="demo"):
        for file in files:
            path = tmp_path / name / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            path.chmod(file.mode)
        return tmp_path / name

    return write


@pytest.fixture
def resolve(compose, unpack):
    """Return a function that gives Compose's reading of a rank's service, under a hostile environment."""

    def read(files, folder="rank-0-spark-1", **environment):
        where = unpack(files) / folder
        command = [compose, "-f", where / "compose.yaml", "--project-directory", where, "--env-file", os.devnull]
        done = subprocess.run(
            [*command, "config", "--format", "json"],
            capture_output=True,
            env={"HOME": "/leak", "PATH": os.environ["PATH"], **environment},
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return _undouble(json.loads(done.stdout))["services"]["engine"]

    return read


def _undouble(value):
    """Undo that ``config`` prints every literal $ as $$."""
    if isinstance(value, str):
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [_undouble(item) for item in value]
    return {key: _undouble(item) for key, item in value.items()} if isinstance(value, dict) else value


@pytest.fixture
def launch(unpack, tmp_path):
    """Return a function that runs a plan's launch.sh as the container would, with stub programs on PATH.

    The three absolute paths of the container are moved below a temporary folder. The stub engine prints its
    arguments NUL-separated and its environment's WORKSPACE_DIR.
    """
    stubs = tmp_path / "bin"
    stubs.mkdir()
    (tmp_path / "image-workdir").mkdir()

    def stub(name, body):
        (stubs / name).write_text(f"#!/bin/sh\n{body}\n")
        (stubs / name).chmod(0o755)

    stub("engine", r"""printf '%s\0' "$@" >"$OUT" """)

    def run(made=None, *, shell="sh", path=f"{stubs}:{os.environ['PATH']}", **environment):
        folder = unpack(render(made if made is not None else plan(rank(argv=("engine", "a b"))))) / "rank-0-spark-1"
        script = folder / "launch.sh"
        text = script.read_bytes().replace(b"/sparkc/", f"{folder}/".encode())
        script.write_bytes(text.replace(b"/workspace", f"{tmp_path}/workspace".encode()))
        out = tmp_path / "argv"
        out.unlink(missing_ok=True)
        done = subprocess.run(
            [*shell.split(), script],
            capture_output=True,
            cwd=tmp_path / "image-workdir",
            env={"PATH": path, "OUT": str(out), **environment},
            timeout=20,
            check=False,
        )
        done.argv = out.read_bytes().decode().split("\0")[:-1] if out.exists() else None
        done.stderr = done.stderr.decode()
        return done

    run.stub = stub
    run.stubs = stubs
    return run
