import pytest

from sparkc.runner.layout import root_layout
from sparkc.runner.processes import Processes
from sparkc.runner.ssh import Ssh
from sparkc.runner.target import make_target
from support.local_nodes import LocalNodes


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """One node, which is a folder of this machine: ssh and docker are stand-ins, the scripts are the real ones."""
    made = LocalNodes(tmp_path, "spark-1")
    monkeypatch.setenv("PATH", made.path)
    return made


@pytest.fixture
def connection(nodes):
    with Ssh(Processes()) as ssh:
        yield ssh.connect(make_target("spark-1", "spark-1", "spark"))


@pytest.fixture
def layout(nodes):
    return root_layout(str(nodes.home("spark-1")), "demo")
