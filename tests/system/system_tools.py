"""A project folder, and the real programs that read what sparkc makes of it: sh, Compose and the command line."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import sparkc
from sparkc.cli.compile import Compiled, compile_recipe
from sparkc.cli.inputs import inventory_file
from sparkc.cli.project import find_project, find_recipe
from sparkc.diagnostics import Diagnostic, Report, Severity
from sparkc.planning.overrides import Overrides

PACKAGE = Path(sparkc.__file__).parent.parent
_BESIDE = Path(sys.executable).with_name("docker-compose")
COMPOSE = str(_BESIDE) if _BESIDE.is_file() else shutil.which("docker-compose")
PATH = os.environ["PATH"]

RECIPE = """\
sparkc: 1
name: demo
engine: vllm
image: registry.example/vllm@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
model: org/model-a
revision: 0123456789abcdef0123456789abcdef01234567
port: 8000
parallel: {tensor: 2}
args:
  - --max-model-len
  - "4096"
env:
  NOTE: plain
"""


def inventory(count: int = 4, **changes: str) -> str:
    """Return a native inventory of ``count`` nodes; ``changes`` are keys of a node, by its number: n2="home: /srv"."""
    text = "sparkc_inventory: 1\nname: lab\ntopology: switch\n"
    text += "defaults: {user: alice, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0]}\nnodes:\n"
    for number in range(1, count + 1):
        more = f", {changes[f'n{number}']}" if f"n{number}" in changes else ""
        text += f"  - {{name: spark-{number}, ssh: spark-{number}.lan, address: 10.77.0.{number}{more}}}\n"
    return text


@dataclass
class Outcome:
    """A compile in memory: the bundle or None, and what was said."""

    compiled: Compiled | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        return [found for found in self.diagnostics if found.severity is Severity.ERROR]

    @property
    def files(self) -> dict[str, bytes]:
        assert self.compiled is not None, [found.message for found in self.errors]
        return {file.path: file.data for file in self.compiled.files}

    @property
    def folders(self) -> list[str]:
        """The ranks' folders, rank 0 first."""
        found = {path.split("/")[0] for path in self.files if path.startswith("rank-")}
        return sorted(found, key=lambda folder: int(folder.split("-")[1]))


class ProjectFolder:
    """A project in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.out = root / "out"

    def write(self, name: str, content: str | bytes, mode: int = 0o644) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else textwrap.dedent(content).encode())
        path.chmod(mode)
        return path

    def mod(self, name: str, run: str = "#!/bin/sh\n") -> None:
        self.write(f"mods/{name}/run.sh", run, 0o755)

    def compile(self, recipe: str, *, inventory: str | None = None, **overrides) -> Outcome:
        """Compile in this process, without writing."""
        project, report = find_project(self.root), Report()
        named = None if inventory is None else str(self.root / inventory)
        compiled = compile_recipe(
            project,
            find_recipe(project, str(self.root / recipe)),
            inventory_file(project, named),
            Overrides(**overrides),
            self.out,
            report,
        )
        return Outcome(compiled, report.diagnostics)

    def sparkc(self, *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None, **options):
        """Run the real command line in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "sparkc", *arguments],
            capture_output=True,
            text=True,
            cwd=cwd or self.root,
            env={"PATH": PATH, "PYTHONPATH": str(PACKAGE)} | (env or {}),
            check=False,
            timeout=120,
            **options,
        )


def unpack(outcome: Outcome, where: Path) -> Path:
    """Write a bundle's files below ``where``, modes included."""
    for file in outcome.compiled.files:
        path = where / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        path.chmod(file.mode)
    return where


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, hidden ones included, by relative path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def compiled(project: ProjectFolder, *arguments: str) -> dict[str, bytes]:
    """Compile with the real command line, the recipe named demo unless told otherwise; return what is in out/."""
    done = project.sparkc("compile", *(arguments or ("demo",)))
    assert done.returncode == 0, done.stderr
    return tree(project.out)


def service(folder: Path, **environment: str) -> dict:
    """Return what the real Compose makes of a rank's folder, under an environment that must not matter."""
    where = ["-f", folder / "compose.yaml", "--project-directory", folder, "--env-file", os.devnull]
    done = subprocess.run(
        [COMPOSE, *where, "config", "--format", "json"],
        capture_output=True,
        env={"HOME": "/leak", "PATH": PATH, **environment},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return _undouble(json.loads(done.stdout))["services"]["engine"]


def _undouble(value):
    """``config`` prints every literal $ as $$."""
    if isinstance(value, str):
        return value.replace("$$", "$")
    if isinstance(value, list):
        return [_undouble(item) for item in value]
    return {key: _undouble(item) for key, item in value.items()} if isinstance(value, dict) else value


@dataclass
class Started:
    """What a stub program received: its name, its arguments and its environment."""

    argv: list[str]
    env: dict[str, str]


class Stubs:
    """A PATH of programs that write down how they were called; and a place for what a container has at its root."""

    def __init__(self, root: Path, *programs: str) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir(parents=True)
        (root / "workdir").mkdir()
        for program in programs:
            self.add(program)

    def add(self, program: str, body: str = "") -> None:
        path = self.bin / program
        dump = 'printf \'%s\\0\' "${0##*/}" "$@" >"$SPARKC_OUT"\n/usr/bin/env -0 >"$SPARKC_OUT.env"\n'
        path.write_text(f"#!/bin/sh\n{body or dump}")
        path.chmod(0o755)

    def run(self, *command: str | Path, env: dict[str, str] | None = None) -> Started:
        """Run a command whose last program is a stub, and return what the stub received."""
        out = self.root / "call"
        out.unlink(missing_ok=True)
        done = subprocess.run(
            command,
            capture_output=True,
            cwd=self.root / "workdir",
            env={"PATH": f"{self.bin}:/usr/bin:/bin", "SPARKC_OUT": str(out)} | (env or {}),
            stdin=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
        assert (done.returncode, out.exists()) == (0, True), (done.returncode, done.stderr.decode())
        argv = out.read_bytes().decode().split("\0")[:-1]
        lines = Path(f"{out}.env").read_bytes().decode().split("\0")[:-1]
        return Started(argv, dict(line.split("=", 1) for line in lines))

    def launch(self, folder: Path, env: dict[str, str] | None = None) -> Started:
        """Run a rank's launch.sh with sh.

        The places of the container that it touches itself are moved where this user may write; the words of the
        engine's command, which may name the same places, stay.
        """
        before, statement, words = (folder / "launch.sh").read_bytes().partition(b"\nexec")
        before = before.replace(b"/sparkc/", f"{folder}/".encode()).replace(b"/workspace", bytes(self.root / "ws"))
        if words.endswith(b"'/sparkc/script.sh'\n"):
            words = words.removesuffix(b"'/sparkc/script.sh'\n") + f"'{folder}/script.sh'\n".encode()
        script = self.root / "launch.sh"
        script.write_bytes(before + statement + words)
        return self.run("sh", script, env=env)


NOBODY = 65534


def as_nobody() -> tuple[str, dict[str, str]] | None:
    """Return a Python, and its environment, that user nobody can run sparkc with; None when there is none."""
    if os.geteuid() != 0:
        return None
    packages = os.pathsep.join([str(PACKAGE), *(path for path in sys.path if path.endswith("-packages"))])
    same_version = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, same_version):
        with contextlib.suppress(OSError):
            command = [python, "-c", "import sparkc, yaml, click, jinja2"]
            env = {"PATH": PATH, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
            if subprocess.run(command, user=NOBODY, env=env, capture_output=True, check=False, cwd="/").returncode == 0:
                return python, env
    return None
