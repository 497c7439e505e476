import pytest

from lab.fixtures import lab

from .serving import Project, prepare

__all__ = ["lab", "project"]


@pytest.fixture(scope="session")
def project(lab, tmp_path_factory):
    """A project on a lab of four nodes that have the real engine."""
    prepare(lab)
    return Project(lab, tmp_path_factory.mktemp("project"))
