import pytest

from lab.fixtures import fresh_lab, fresh_lab8, lab, lab8

__all__ = ["fresh_lab", "fresh_lab8", "lab", "lab8"]

# Tests on a lab mostly wait: two labs at once take half the time of one, also on two cores; more would crowd them.
LABS = 2


# Before pytest-xdist looks at the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let each worker of pytest-xdist take whole files, whose tests share a bundle that serves, on at most two labs."""
    tests = [item for item in items if item.get_closest_marker("lab")]
    files = sorted({item.path for item in tests})
    for item in tests:
        item.add_marker(pytest.mark.xdist_group(f"lab-{files.index(item.path) % LABS}"))
