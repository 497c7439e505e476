"""Bundles and nodes by hand: a healthy pair of Sparks, and what a test changes about them."""

from __future__ import annotations

import json
from dataclasses import replace

from sparkc.bundle.manifest import FileEntry, Manifest, RankEntry, to_bytes
from sparkc.runner.facts import Container, Hca, Image, Interface, Mount, NodeFacts, Release, Releases, Snapshot
from sparkc.runner.parse_releases import rank_ports

COMMIT = "a" * 40
DIGEST = "sha256:" + "1" * 64
GIB = 1 << 30
NOW = 1_800_000_000.0


def rank(number=0, **changes):
    made = RankEntry(
        rank=number,
        node=f"spark-{number + 1}",
        role="worker" if number else "head",
        folder=f"rank-{number}-spark-{number + 1}",
        ssh=f"spark-{number + 1}.lan",
        user="spark",
        home="/home/spark",
        address=f"192.168.177.{11 + number}",
        transfer=None,
        interface="enp1s0f0np0",
        hcas=("rocep1s0f0",),
        ports=() if number else ({"name": "api", "number": 8000}, {"name": "master", "number": 29501}),
        mounts=(
            {"source": "/home/spark/.cache/huggingface", "target": "/root/.cache/huggingface", "create": True},
            {"source": "/srv/models", "target": "/models", "create": False},
        ),
        health=number == 0,
        deep_probe=None if number else "/v1/completions",
        wave=0 if number else 1,
        digest=str(number + 1) * 64,
    )
    return replace(made, **changes)


def manifest(**changes):
    ranks = (rank(0), rank(1))
    made = Manifest(
        name="demo",
        recipe={"path": "recipes/demo.yaml"},
        inventory={"path": "inventory.yaml"},
        overrides={},
        engine="vllm",
        image=f"registry.example/vllm@{DIGEST}",
        models=({"name": "org/model", "revision": COMMIT, "parent": None},),
        api_port=8000,
        client_url="http://spark-1.lan:8000",
        ready_timeout=1800,
        links={},
        secrets=(),
        topology="pair",
        gid=None,
        waves=((1,), (0,)),
        ranks=ranks,
        files=tuple(FileEntry(f"{r.folder}/compose.yaml", str(r.rank) * 64, "0644") for r in ranks),
        group_digest="d" * 64,
    )
    return replace(made, **changes)


def image(**changes):
    made = Image(
        id="sha256:" + "5" * 64,
        digests=(f"registry.example/vllm@{DIGEST}",),
        layers=("sha256:" + "a" * 64, "sha256:" + "b" * 64),
        architecture="arm64",
        os="linux",
        environment=("PATH=/usr/bin",),
    )
    return replace(made, **changes)


def container(number=0, **changes):
    """A container of the bundle ``demo`` that serves as a rank."""
    made = Container(
        id=str(number) * 64,
        name="demo",
        image="registry.example/vllm",
        image_id="sha256:" + "5" * 64,
        state="running",
        health=None if number else "healthy",
        exit_code=0,
        started=NOW - 7200,
        finished=None,
        restarts=0,
        out_of_memory=False,
        labels={"sparkc.bundle": "demo", "sparkc.rank": str(number), "sparkc.rank-digest": str(number + 1) * 64},
        host_network=True,
    )
    return replace(made, **changes)


def release(digest="d" * 64, **changes):
    return replace(Release(digest, NOW - 7300, (), None), **changes)


def releases(current=None, kept=(), previous=None, lock=None):
    """What a node keeps; ``current`` is the manifest of the current release."""
    return Releases(
        kept=kept or ((release(current.group_digest),) if current is not None else ()),
        current=None if current is None else current.group_digest,
        previous=previous,
        manifest=None if current is None else to_bytes(current),
        lock=lock,
        ports={} if current is None else dict(rank_ports(to_bytes(current).decode())),
    )


def node(number=0, **changes):
    """A Spark in order, with nothing of the bundle on it."""
    address = f"192.168.177.{11 + number}"
    gid = "0000:0000:0000:0000:0000:ffff:c0a8:b10b"
    made = NodeFacts(
        clock=NOW,
        user="spark",
        uid=1000,
        home="/home/spark",
        architecture="aarch64",
        path="/usr/bin",
        docker="28.3.0",
        docker_error=None,
        compose="2.39.1",
        rsync="3.2.7",
        engine_id=f"engine-{number}",
        containers=(),
        image=image(),
        listeners={},
        mounts=(
            Mount("/home/spark/.cache/huggingface", "directory", True, "spark", True, "ext2/ext3"),
            Mount("/srv/models", "directory", False, "root", False, "nfs"),
        ),
        interfaces={
            "lo": Interface("lo", "unknown", 65536, ("127.0.0.1",)),
            "enp1s0f0np0": Interface("enp1s0f0np0", "up", 9000, (address, "fe80::1")),
            "enp1s0f1np1": Interface("enp1s0f1np1", "down", 1500, ()),
        },
        hcas={"rocep1s0f0": Hca("rocep1s0f0", "ACTIVE", {3: (gid, "RoCE v2", "enp1s0f0np0")})},
        models=(Snapshot("org/model", COMMIT, (), "spark"),),
        memory_total=119 * GIB,
        memory_available=112 * GIB,
        page_cache=4 * GIB,
        swap_total=0,
        disk_free={"/": 900 * GIB},
        driver="580.95.05",
        unreachable=(),
        releases=releases(),
        stray="",
        root=Mount("/home/spark/.local/share/sparkc", "directory", True, "spark", True, "ext2/ext3"),
    )
    return replace(made, **changes)


def serving(made=None, **changes):
    """Facts of both nodes of a bundle that serves as it should."""
    made = made or manifest()
    return {
        number: node(number, containers=(container(number),), releases=releases(made), **changes) for number in (0, 1)
    }


def docker_container(name, **state):
    """A line as the look prints it for a container."""
    return json.dumps(
        {
            "id": "f" * 64,
            "name": f"/{name}",
            "image_id": "sha256:" + "5" * 64,
            "restarts": 0,
            "state": {"Status": "running", "ExitCode": 0, "StartedAt": "2026-09-20T10:00:00.5Z", **state},
            "image": "registry.example/vllm:1",
            "labels": {"sparkc.bundle": name},
            "network": "host",
            "ports": {},
        },
        separators=(",", ":"),
    )
