"""Releases on a node, with the real scripts: what becomes current, what is removed and what never is."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.group import Group, Member
from sparkc.runner.processes import Processes
from sparkc.runner.release_list import kept_releases
from sparkc.runner.releases import flip, prune, read_manifest
from sparkc.runner.secrets import Secrets
from sparkc.runner.transfer import give_secrets, prepare
from support.node_facts import NOW, manifest, node, rank, release, releases

OLD, OLDER, OLDEST, ANCIENT, NEVER = (letter * 64 for letter in "abcd9")


@pytest.fixture
def member(nodes, connection):
    return Member(manifest(), rank(0, home=str(nodes.home("spark-1"))), connection)


@pytest.fixture
def five(nodes):
    """Four releases that ran, and one that never came to it; its digest is a large number."""
    for age, digest in enumerate((OLD, OLDER, OLDEST, ANCIENT)):
        nodes.put_release("spark-1", "demo", digest, 1_800_000_000 - age)
    nodes.put_release("spark-1", "demo", NEVER, None)
    return nodes


def test_the_three_that_were_started_last_stay(five, connection, layout):
    assert prune(connection, layout) == (ANCIENT, NEVER)
    assert five.kept("spark-1", "demo") == {OLD, OLDER, OLDEST}
    assert prune(connection, layout) == ()


@pytest.mark.parametrize("name", ["current", "previous"])
def test_the_current_and_the_previous_one_stay_whatever_their_age(five, connection, layout, name):
    five.link("spark-1", "demo", name, ANCIENT)

    assert prune(connection, layout, kept=0) == (OLD, OLDER, OLDEST, NEVER)
    assert five.kept("spark-1", "demo") == {ANCIENT}


def test_a_release_that_a_container_stands_on_stays(five, connection, layout):
    release = five.base("spark-1", "demo") / "releases" / NEVER
    five.put_container("spark-1", release / "demo/rank-0-spark-1")

    assert prune(connection, layout) == (ANCIENT,)
    assert release.is_dir()


def test_without_an_answer_from_docker_nothing_is_removed(five, connection, layout):
    five.stop_docker("spark-1")

    with pytest.raises(SparkcError, match="Docker gives no answer") as caught:
        prune(connection, layout)

    assert caught.value.host == "spark-1"
    assert len(five.kept("spark-1", "demo")) == 5


def test_what_is_no_release_is_left_alone(five, connection, layout):
    incoming = five.base("spark-1", "demo") / "releases" / f".incoming-{OLD}-0"
    incoming.mkdir()
    mine = five.base("spark-1", "demo") / "releases/my notes"
    mine.write_text("mine")

    prune(connection, layout, kept=0)

    assert five.kept("spark-1", "demo") == {incoming.name, mine.name}


def test_a_bundle_without_releases_has_none_to_remove(connection, layout):
    assert prune(connection, layout) == ()


def test_the_manifest_of_a_release_is_read_as_it_is(five, connection, layout):
    assert read_manifest(connection, layout, OLD) == b"{}"
    assert read_manifest(connection, layout, "e" * 64) == b""


def test_a_flip_makes_the_current_one_the_previous_one(nodes, member):
    base = nodes.base("spark-1", "demo")

    def become(digest):
        nodes.put_release("spark-1", "demo", digest, None)
        flip(Group(replace(member.manifest, group_digest=digest), (with_digest(member, digest),), Processes()))

    become(OLD)
    assert (base / "current").resolve() == base / "releases" / OLD
    assert not (base / "previous").exists()
    become(OLDER)
    assert (base / "current").resolve() == base / "releases" / OLDER
    assert (base / "previous").resolve() == base / "releases" / OLD
    assert int((base / "releases" / OLDER / "deployed").read_text()) > 1_700_000_000
    assert sorted(path.name for path in base.iterdir()) == ["current", "previous", "releases"]


def test_the_same_release_again_keeps_the_previous_one(nodes, member):
    for digest in (OLD, OLDER):
        nodes.put_release("spark-1", "demo", digest, None)
        flip(Group(member.manifest, (with_digest(member, digest),), Processes()))
    flip(Group(member.manifest, (with_digest(member, OLDER),), Processes()))

    assert (nodes.base("spark-1", "demo") / "previous").resolve().name == OLD


def test_the_sources_of_mounts_are_made_where_they_are_to_be(nodes, member):
    home = nodes.home("spark-1")
    mounts = (
        {"source": f"{home}/my cache/hub", "target": "/a", "create": True},
        {"source": f"{home}/models", "target": "/b", "create": False},
    )

    prepare(replace(member, rank=replace(member.rank, mounts=mounts)))

    assert (home / "my cache/hub").is_dir()
    assert not (home / "models").exists()


def test_a_folder_that_cannot_be_made_is_named(nodes, member):
    blocked = nodes.home("spark-1") / "file"
    blocked.write_text("")
    mounts = ({"source": f"{blocked}/cache", "target": "/a", "create": True},)

    with pytest.raises(SparkcError) as caught:
        prepare(replace(member, rank=replace(member.rank, mounts=mounts)))

    assert caught.value.host == "spark-1"
    assert str(blocked) in caught.value.output


def test_secrets_arrive_exactly_and_for_the_login_user_alone(nodes, member):
    release = nodes.put_release("spark-1", "demo", member.manifest.group_digest, None)
    secrets = Secrets({"HF_TOKEN": "a'b\"c $HOME \\ `id` ü #"})

    give_secrets(member, secrets)

    file = release / ".sparkc-secrets.env"
    assert file.read_text() == "HF_TOKEN=a'b\"c $HOME \\ `id` ü #\n"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == secrets.sha256
    assert file.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in release.iterdir()} == {"demo", ".sparkc-secrets.env"}


def test_releases_of_all_nodes_are_joined_newest_first():
    now = manifest(group_digest=OLD)
    kept = (release(OLD, deployed=NOW - 60), release(OLDER, deployed=NOW - 9000), release(NEVER, deployed=0.0))
    facts = {
        "spark-1": node(0, releases=releases(now, kept=kept, previous=OLDER)),
        # Its clock is an hour behind, and so are the times that it wrote down.
        "spark-2": node(
            1,
            clock=NOW - 3600,
            releases=releases(
                now, kept=(release(OLD, deployed=NOW - 3600 - 50, changed=("rank-1-spark-2/rank.env",)),)
            ),
        ),
    }

    found = kept_releases(facts)

    assert [(r.digest, r.age, r.nodes) for r in found] == [
        (OLD, 50, ("spark-1", "spark-2")),
        (OLDER, 9000, ("spark-1",)),
        (NEVER, None, ("spark-1",)),
    ]
    assert [(r.current, r.previous) for r in found] == [(("spark-1", "spark-2"), ()), ((), ("spark-1",)), ((), ())]
    assert found[0].changed == {"spark-2": ("rank-1-spark-2/rank.env",)}


def with_digest(member, digest):
    return replace(member, manifest=replace(member.manifest, group_digest=digest))
