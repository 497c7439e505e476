"""Where package data lies: in a checkout, and in a wheel that was really built and installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import sparkc
from sparkc import prepared, resources
from sparkc.bundle.templates import Context, compiled
from sparkc.errors import SparkcError

ROOT = Path(sparkc.__file__).resolve().parents[2]
PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
from sparkc import prepared, resources
from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.reading.schema import validate
assert all(str(resources.folder(kind)).startswith(sys.argv[1]) for kind in resources.KINDS)
assert prepared.validator("inventory", resources.read_text("schemas", "inventory.schema.json")) is not None
document = read_document("i.yaml", b"sparkc_inventory: 1\\nnodes: [{name: a, ssh: a, address: 10.0.0.1}]\\n", Report())
assert validate(document, "inventory", Report())
assert prepared.template("bundle/compose.yaml.j2", resources.read_text("templates", "bundle/compose.yaml.j2"))
assert not [name for name in sys.modules if name.startswith(("jsonschema", "fastjsonschema", "jinja2"))]
"""


@pytest.mark.parametrize("kind", resources.KINDS)
def test_a_checkout_has_every_kind_of_data(kind: str) -> None:
    assert any(resources.folder(kind).iterdir())


def test_an_unknown_kind_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="no such kind"):
        resources.folder("scheams")


def test_a_missing_file_is_a_damaged_installation() -> None:
    with pytest.raises(SparkcError) as caught:
        resources.read_text("schemas", "none.schema.json")
    assert "schemas/none.schema.json" in str(caught.value)
    assert "install sparkc again" in str(caught.value)


def test_a_changed_template_is_not_served_from_the_prepared_ones() -> None:
    assert prepared.template("bundle/rank.env.j2", "now\n") is None
    assert "".join(compiled("bundle/rank.env.j2", "now\n")(Context({}))) == "now\n"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that the checkout's own prepared files stay as they are."""
    copy = tmp_path_factory.mktemp("wheel") / "source"
    copy.mkdir()
    for name in ("compiler", *resources.KINDS):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "_prepared"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    program = "from hatchling.build import build_wheel; print(build_wheel('dist'))"
    built = subprocess.run([sys.executable, "-c", program], cwd=copy, check=True, capture_output=True, text=True)
    return copy / "dist" / built.stdout.strip().splitlines()[-1]


def test_the_wheel_holds_data_and_prepared_files(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for kind in resources.KINDS:
        for path in resources.folder(kind).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"sparkc/_data/{kind}/{path.relative_to(resources.folder(kind)).as_posix()}" in names
    assert "sparkc/_prepared/validate_inventory.py" in names
    assert len(names) == len(set(names))


def test_an_installed_wheel_works_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(target),
            str(wheel),
        ],
        check=True,
    )
    subprocess.run([sys.executable, "-P", "-c", PROBE, str(target)], cwd=tmp_path, check=True, env={"PATH": ""})
