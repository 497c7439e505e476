"""Going back to what the nodes kept, and what is refused when they did not keep it."""

from __future__ import annotations

import pytest

from lab.deployment import BASE, Deployment

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def demo(lab, tmp_path_factory):
    """Two releases on both nodes; the newer one, ``old``, serves."""
    lab.reset()
    made = Deployment(lab, tmp_path_factory.mktemp("demo"))
    made.renew()
    made.first = made.old
    return made


def remove(node, manifest):
    node.run(["rm", "-r", f"/home/spark/{BASE}/releases/{manifest['group_digest']}"], user="spark")


def test_without_a_previous_release(demo):
    before = demo.containers()

    done = demo.sparkc("rollback", "demo", "--yes")

    assert done.returncode == 1
    assert "demo has no previous release on its nodes" in done.stderr
    assert "sparkc releases demo shows what is kept" in done.stderr
    assert demo.containers() == before
    demo.check_serving(demo.old)


def test_back_and_forth(demo):
    first = demo.first
    demo.deploy_new()
    second = demo.old

    back = demo.sparkc("rollback", "demo", "--yes")
    assert back.returncode == 0, back.stderr
    demo.check_serving(first)

    to = demo.sparkc("rollback", "demo", "--to", second["group_digest"][:8], "--yes")
    assert to.returncode == 0, to.stderr
    demo.check_serving(second)

    unknown = demo.sparkc("rollback", "demo", "--to", "0000beef", "--yes")
    assert unknown.returncode == 1
    assert "demo: no release begins with '0000beef'" in unknown.stderr
    assert f"kept are: {', '.join(sorted(m['group_digest'][:12] for m in (first, second)))}" in unknown.stderr


def test_a_release_that_one_node_has_no_more(demo):
    demo.renew()
    before = demo.containers()
    remove(demo.nodes[1], demo.first)

    back = demo.sparkc("rollback", "demo", "--yes")

    assert back.returncode == 1
    assert f"spark-2: release {demo.first['group_digest'][:12]} is not on this node any more" in back.stderr
    assert "sparkc releases demo shows what all nodes have" in back.stderr
    assert demo.containers() == before
    demo.check_serving(demo.old)


def test_a_release_that_no_node_has_any_more(demo):
    demo.renew()
    before = demo.containers()
    remove(demo.nodes[0], demo.first)

    back = demo.sparkc("rollback", "demo", "--yes")

    assert back.returncode == 1
    assert "demo has no previous release on its nodes" in back.stderr
    assert "sparkc releases demo shows" in back.stderr
    assert demo.containers() == before
    demo.check_serving(demo.old)


def test_a_deploy_over_a_release_that_somebody_removed(demo):
    """The containers run on without their files; unchanged files cannot be taken from there."""
    demo.renew()
    remove(demo.nodes[1], demo.old)
    status = demo.sparkc("plan", "demo")
    assert status.returncode == 0

    demo.deploy_new()
