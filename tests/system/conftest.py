import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from system_tools import RECIPE, ProjectFolder, Stubs, inventory


@pytest.fixture
def project(tmp_path):
    """A project of four nodes, without recipes."""
    folder = ProjectFolder(tmp_path / "project")
    folder.write("inventory.yaml", inventory())
    return folder


@pytest.fixture
def stubs(tmp_path):
    """The programs that recipes start, as stubs."""
    return Stubs(tmp_path / "stubs", "engine", "vllm", "uvicorn", "python3")


@pytest.fixture
def demo(project):
    """The project with a recipe that has a mod; nothing compiled yet."""
    project.write("recipes/demo.yaml", RECIPE + "mods: [first]\n")
    project.mod("first")
    return project
