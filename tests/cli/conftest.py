"""A project in a temporary folder, and the command line run inside this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sparkc.cli.main import run

INVENTORY = """\
sparkc_inventory: 1
name: lab
topology: switch
defaults: {user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0]}
nodes:
  - {name: spark-a, ssh: spark-a.lan, address: 10.0.0.1}
  - {name: spark-b, ssh: spark-b.lan, address: 10.0.0.2}
  - {name: spark-c, ssh: spark-c.lan, address: 10.0.0.3}
"""

# Pinned, so that a compile of it has nothing to say.
RECIPE = """\
sparkc: 1
name: tiny
engine: vllm
image: img@sha256:{digest}
model: org/model
revision: {revision}
port: 8000
parallel: {{tensor: 2}}
defaults: {{ctx: "4096"}}
args: [--max-model-len, "{{ctx}}"]
""".format(digest="a" * 64, revision="b" * 40)


@dataclass
class Outcome:
    code: int
    out: str
    err: str


class ProjectFolder:
    """A project that a test writes into; ``run`` is the ``sparkc`` command in its folder."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def files(self, folder: str = "out") -> dict[str, bytes]:
        base = self.root / folder
        return {path.relative_to(base).as_posix(): path.read_bytes() for path in base.rglob("*") if path.is_file()}

    def run(self, *arguments: str) -> Outcome:
        self._capsys.readouterr()
        code = run(list(arguments))
        captured = self._capsys.readouterr()
        return Outcome(code, captured.out, captured.err)


@pytest.fixture
def empty(tmp_path, monkeypatch, capsys) -> ProjectFolder:
    """A folder with nothing in it."""
    monkeypatch.chdir(tmp_path)
    return ProjectFolder(tmp_path, capsys)


@pytest.fixture
def project(empty) -> ProjectFolder:
    """Three nodes on a switch and one recipe for two of them."""
    empty.write("inventory.yaml", INVENTORY)
    empty.write("recipes/tiny.yaml", RECIPE)
    return empty
