"""The architecture as a test: one direction, pure packages, small modules, no circular imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sparkc

PACKAGE = Path(sparkc.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_prepared" not in path.parts and "_data" not in path.parts)

# A package imports from its own line or from lines above it. Engines, fabric and planning share planning/model.py.
LAYERS = [
    {"__version__", "record", "patterns", "errors", "resources", "prepared"},
    {"reading", "diagnostics", "traced"},
    {"recipe", "inventory"},
    {"engines", "fabric", "fit", "flags", "planning"},
    {"bundle"},
    {"runner"},
    {"cli", "prepare"},
]
# Files, processes, clocks and the environment are for these alone.
WORLDLY = {"cli", "runner", "resources", "prepared", "prepare", "__main__"}
WORLDLY_MODULES = {"bundle/write.py", "bundle/file_ops.py", "bundle/check.py", "bundle/load.py", "bundle/verify.py"} | {
    "flags/pack.py"
}
FORBIDDEN = {
    "datetime", "getpass", "glob", "locale", "os", "pathlib", "platform", "random", "shutil", "socket", "subprocess",
    "tempfile", "time", "urllib", "uuid",
}  # fmt: skip


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def top(path: Path) -> str:
    return relative(path).split("/")[0].removesuffix(".py")


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.append(node.module)
            if node.module == "sparkc":
                names += [f"sparkc.{alias.name}" for alias in node.names]
    return names


def layer(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_imports_go_one_way(path):
    own = top(path)
    if own in ("__init__", "__main__"):
        return
    wrong = [
        name
        for name in imported(path)
        if name.startswith("sparkc.") and layer(name.split(".")[1]) > layer(own) and name != "sparkc.prepared"
    ]

    assert wrong == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_pure_packages_touch_nothing_outside(path):
    if top(path) in WORLDLY or relative(path) in WORLDLY_MODULES:
        return

    assert sorted({name.split(".")[0] for name in imported(path)} & FORBIDDEN) == []
    assert "open(" not in {
        ast.unparse(node)[:5] for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
    }


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_modules_are_small(path):
    assert len(path.read_text().splitlines()) <= 400


def test_every_module_can_be_imported_first():
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    for known in [m for m in sys.modules if m.split('.')[0] == 'sparkc']: del sys.modules[known]\n"
        "    importlib.import_module(name)\n"
    )
    names = [
        ".".join(("sparkc", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in MODULES
        if path.name != "__main__.py"
    ]

    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)

    assert done.stderr == ""
