"""pytest fixtures: a lab per test process, brought back to its first state for each test that asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from . import cleanup, state
from .cluster import Lab
from .deployment import Deployment
from .requirements import why_not
from .system import LabError


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A lab of four nodes for all tests of this process; as other tests left it."""
    yield from _lab(4)


@pytest.fixture(scope="session")
def lab8() -> Iterator[Lab]:
    """A lab of eight nodes for all tests of this process; as other tests left it."""
    yield from _lab(8)


@pytest.fixture
def fresh_lab(lab: Lab) -> Lab:
    """The lab of four nodes, each as it was when it came up."""
    lab.reset()
    return lab


@pytest.fixture
def fresh_lab8(lab8: Lab) -> Lab:
    """The lab of eight nodes, each as it was when it came up."""
    lab8.reset()
    return lab8


@pytest.fixture(scope="module")
def deployment(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """The demo recipe in a project of its own, on two fresh nodes, for all tests of a file."""
    lab.reset()
    return Deployment(lab, tmp_path_factory.mktemp("demo"))


@pytest.fixture
def demo(deployment: Deployment) -> Iterator[Deployment]:
    """The demo bundle, serving, with another one compiled."""
    deployment.renew()
    yield deployment
    deployment.slow_docker(0)


def need_lab() -> None:
    """Skip the test where no lab can run, with the reason; with SPARKC_REQUIRE_LAB=1 it fails instead."""
    reason = why_not()
    if reason is None:
        return
    if os.environ.get("SPARKC_REQUIRE_LAB") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _lab(nodes: int) -> Iterator[Lab]:
    need_lab()
    _remove_left_over()
    # Named after the process: several test runs, and pytest-xdist's workers, do not meet.
    made = Lab.up(f"test-{os.getpid()}-{nodes}", nodes)
    try:
        yield made
    finally:
        made.down()


def _remove_left_over() -> None:
    """Bring down the labs of test processes that ended without doing so."""
    for name in state.labs():
        parts = name.split("-")
        if parts[0] == "test" and len(parts) == 3 and not Path("/proc", parts[1]).exists():
            with suppress(LabError, OSError):  # another worker does the same
                cleanup.down(name)
