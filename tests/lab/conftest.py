import pytest

from lab.fixtures import fresh_lab, fresh_lab8, lab, lab8

__all__ = ["fresh_lab", "fresh_lab8", "lab", "lab8"]


def pytest_collection_modifyitems(items):
    """Let one worker of pytest-xdist run all tests that need a lab: two labs at once gain nothing on two cores."""
    for item in items:
        if item.get_closest_marker("lab"):
            item.add_marker(pytest.mark.xdist_group("lab"))
