"""sparkc releases, prune and lock, on stand-ins for nodes that run the real scripts."""

from __future__ import annotations

import fcntl
import json
import shutil
import time

import pytest

from support.local_nodes import LocalNodes

INVENTORY = """\
sparkc_inventory: 1
name: lab
topology: switch
defaults: {{user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0]}}
nodes:
  - {{name: spark-a, ssh: spark-a, home: {folder}/spark-a, address: 10.0.0.1}}
  - {{name: spark-b, ssh: spark-b, home: {folder}/spark-b, address: 10.0.0.2}}
"""
OLD, OLDER, OLDEST, ANCIENT = (letter * 64 for letter in "abcd")


def hour_ago():
    return int(time.time()) - 3600


class Cluster:
    """A project with the bundle ``tiny`` for two nodes, and what those keep of it."""

    def __init__(self, project, nodes):
        self.project, self.nodes = project, nodes
        assert project.run("compile", "tiny").code == 0
        self.bundle = project.root / "out/tiny"
        self.digest = json.loads((self.bundle / "bundle.json").read_text())["group_digest"]

    def run(self, *arguments):
        return self.project.run(*arguments)

    def keep(self, digest=None, deployed=None, current=False, hosts=("spark-a", "spark-b")):
        """Put a release on nodes, with the files of the bundle."""
        deployed = hour_ago() if deployed is None else deployed
        for host in hosts:
            release = self.nodes.put_release(host, "tiny", digest or self.digest, deployed)
            shutil.copy(self.bundle / "bundle.json", release / "tiny/bundle.json")
            folder = next(self.bundle.glob(f"rank-*-{host}"))
            shutil.copytree(folder, release / "tiny" / folder.name)
            if current:
                self.nodes.link(host, "tiny", "current", digest or self.digest)

    def lock(self, host="spark-a", text=None):
        if text is None:
            text = f"who=ann@laptop\npid=7\ndoing=deploying abc\nsince={hour_ago()}\ndeadline=99999999999\n"
        folder = self.nodes.base(host, "tiny") / "lock"
        folder.mkdir(parents=True)
        (folder / "holder").write_text(text)
        return folder


@pytest.fixture
def cluster(project, tmp_path_factory, monkeypatch):
    nodes = LocalNodes(tmp_path_factory.mktemp("nodes"), "spark-a", "spark-b")
    monkeypatch.setenv("PATH", nodes.path)
    project.write("inventory.yaml", INVENTORY.format(folder=nodes.folder))
    return Cluster(project, nodes)


def test_releases_are_listed_newest_first_with_what_they_are(cluster):
    cluster.keep(current=True)
    cluster.keep(OLD, hour_ago() - 100, hosts=("spark-b",))
    rank_env = next(
        (cluster.nodes.base("spark-b", "tiny") / "releases").glob(f"{cluster.digest}/tiny/rank-1-*/rank.env")
    )
    rank_env.write_text("A=1\n")

    done = cluster.run("releases", "tiny")

    assert (done.code, done.err) == (0, "")
    rows = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert [row[0] for row in rows] == ["RELEASE", cluster.digest[:12], OLD[:12]]
    assert "current" in rows[1][1]
    assert rows[1][1].endswith("spark-a, spark-b  spark-b: rank-1-spark-b/rank.env")
    assert "  -  " in rows[2][1]


def test_releases_for_programs(cluster):
    cluster.keep(current=True)
    cluster.nodes.switch_off("spark-b")

    done = cluster.run("releases", "tiny", "--json")

    found = json.loads(done.out)
    assert done.code == 1
    assert found["bundle"] == "tiny"
    assert found["unknown"] == {"spark-b": "cannot be reached"}
    [release] = found["releases"]
    assert 3600 <= release.pop("started_seconds_ago") < 3700
    assert release == {
        "digest": cluster.digest,
        "nodes": ["spark-a"],
        "current": ["spark-a"],
        "previous": [],
        "changed": {},
    }


def test_a_node_that_is_off_is_not_known_rather_than_empty(cluster):
    cluster.nodes.switch_off("spark-a")

    done = cluster.run("releases", "tiny")

    assert done.code == 1
    assert done.out == ""
    assert "not known of spark-a: cannot be reached" in done.err


def test_nothing_kept_is_said(cluster):
    done = cluster.run("releases", "tiny")

    assert (done.code, done.out) == (0, "no release of tiny is kept on spark-a, spark-b\n")


def test_without_a_folder_the_nodes_of_the_inventory_are_asked(cluster):
    cluster.keep(current=True)
    shutil.rmtree(cluster.bundle)

    done = cluster.run("releases", "tiny")

    assert done.code == 0
    assert cluster.digest[:12] in done.out


def test_a_name_that_nobody_knows_is_answered_with_near_ones(cluster):
    cluster.keep(current=True)

    done = cluster.run("releases", "tinny")

    assert done.code == 1
    assert "there is no bundle tinny, and no release of it on these nodes" in done.err
    assert "did you mean 'tiny'?" in done.err


@pytest.mark.parametrize("name", ["../../etc", "Tiny", "a b"])
def test_what_cannot_be_a_name_reaches_no_node(cluster, name):
    cluster.nodes.switch_off("spark-a")

    done = cluster.run("releases", name)

    assert done.code == 1
    assert f"there is no bundle {name!r} here or under out/" in done.err


def test_prune_removes_what_is_old_on_all_nodes(cluster):
    cluster.keep(current=True)
    for age, digest in enumerate((OLD, OLDER, OLDEST)):
        cluster.keep(digest, hour_ago() - 1 - age)
    cluster.keep(ANCIENT, hour_ago() - 1000, hosts=("spark-b",))

    done = cluster.run("prune", "tiny")

    assert done.code == 0
    assert done.out.splitlines() == [
        f"tiny on spark-a: {OLDEST[:12]}",
        f"tiny on spark-b: {OLDEST[:12]}, {ANCIENT[:12]}",
    ]
    assert (
        cluster.nodes.kept("spark-a", "tiny") == cluster.nodes.kept("spark-b", "tiny") == {cluster.digest, OLD, OLDER}
    )
    assert not (cluster.nodes.base("spark-a", "tiny") / "lock").exists()


def test_prune_without_a_name_takes_every_bundle_on_the_nodes(cluster):
    cluster.keep(current=True)
    for age in range(4):
        cluster.nodes.put_release("spark-b", "other", f"{age}" * 64, hour_ago() - age)

    done = cluster.run("prune")

    assert done.code == 0
    assert done.out.splitlines() == [
        f"other on spark-b: {'3' * 12}",
        "tiny on spark-a: nothing to remove",
        "tiny on spark-b: nothing to remove",
    ]


def test_prune_does_what_it_can_and_tells_of_the_rest(cluster):
    cluster.keep(current=True)
    cluster.nodes.switch_off("spark-b")

    done = cluster.run("prune", "tiny")

    assert done.code == 1
    assert done.out == "tiny on spark-a: nothing to remove\n"
    assert "failed: spark-b: cannot be reached" in done.err


def test_prune_does_not_work_beside_a_deploy_that_cannot_be_seen(cluster):
    """The lock is on the node of rank 0."""
    cluster.keep(current=True)
    for age, digest in enumerate((OLD, OLDER, OLDEST)):
        cluster.keep(digest, hour_ago() - 1 - age)
    cluster.nodes.switch_off("spark-a")

    done = cluster.run("prune", "tiny")

    assert done.code == 1
    assert "tiny cannot be locked, since rank 0 is on spark-a" in done.err
    assert len(cluster.nodes.kept("spark-b", "tiny")) == 4


def test_a_lock_is_told_with_its_holder(cluster):
    folder = cluster.lock()
    with (folder / "holder").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as its keeper does while it lives

        done = cluster.run("lock", "status", "tiny")

    assert done.code == 0
    assert done.out == "spark-a: locked by ann@laptop (process 7), deploying abc, since 60 min ago\n"


def test_a_lock_without_its_keeper_is_left_behind(cluster):
    cluster.lock()

    done = cluster.run("lock", "status", "tiny")

    assert done.code == 0
    assert "left behind by ann@laptop (process 7)" in done.out
    assert done.out.endswith("the next command takes it over\n")


def test_a_lock_is_released_wherever_it_is(cluster):
    folder = cluster.lock("spark-b")

    done = cluster.run("lock", "release", "tiny")

    assert done.code == 0
    assert done.out.startswith("spark-b: released the lock of ann@laptop (process 7), deploying abc")
    assert not folder.exists()
    assert cluster.run("lock", "release", "tiny").out == "tiny is not locked\n"


def test_a_lock_on_a_node_that_is_off_is_not_known(cluster):
    cluster.nodes.switch_off("spark-a")

    done = cluster.run("lock", "status", "tiny")

    assert (done.code, done.out) == (1, "")
    assert "not known of spark-a: cannot be reached" in done.err


def test_another_word_than_status_or_release_is_answered_with_the_near_one(cluster):
    done = cluster.run("lock", "relese", "tiny")

    assert done.code == 2
    assert "did you mean 'release'?" in done.err
