"""The sections of scripts/probe.sh → :class:`NodeFacts`. Every line is checked: a node may answer anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sparkc.runner.facts import Hca, Interface, Listener, Mount, NodeFacts, Snapshot
from sparkc.runner.layout import root_layout
from sparkc.runner.parse_docker import parse_containers, parse_image
from sparkc.runner.parse_releases import parse_releases
from sparkc.runner.query import Query

_NEIGHBOUR = "neighbour "


def parse_facts(query: Query, sections: Mapping[str, str], stray: str) -> NodeFacts:
    """Return what the sections say; ``stray`` is what the login shell printed before them."""
    node = _values(sections.get("node", ""))
    docker = _values(sections.get("docker", ""))
    memory = _memory(sections.get("memory", ""))
    clock = _decimal(node.get("clock", ""))
    root = root_layout(query.home or node.get("home", ""), "").root
    mounts = list(_mounts((root, *query.paths), sections.get("paths", "")))
    peers = list(_rows(sections.get("peers", "")))
    return NodeFacts(
        clock=clock,
        user=node.get("user", ""),
        uid=_integer(node.get("uid", "")),
        home=node.get("home", ""),
        architecture=node.get("machine", ""),
        path=node.get("path", ""),
        docker=docker.get("version") or None,
        docker_error=_docker_error(docker),
        compose=docker.get("compose") or None,
        rsync=node.get("rsync") or None,
        engine_id=docker.get("engine") or None,
        containers=parse_containers(sections.get("containers", "")),
        image=parse_image(sections.get("image", "")),
        listeners=_listeners(sections.get("listeners", "")),
        mounts=tuple(mounts[1:]),
        interfaces=_interfaces(sections.get("interfaces", "")),
        hcas=_hcas(sections.get("hcas", "")),
        models=tuple(_models(query, sections.get("models", ""))),
        memory_total=memory.get("MemTotal", 0),
        memory_available=memory.get("MemAvailable", 0),
        page_cache=max(0, memory.get("Cached", 0) + memory.get("Buffers", 0) - memory.get("Shmem", 0)),
        swap_total=memory.get("SwapTotal", 0),
        disk_free=_disks(sections.get("disks", "")),
        driver=node.get("driver") or None,
        unreachable=tuple(row[1] for row in peers if row[0] == "silent"),
        releases=parse_releases(sections, clock),
        stray=stray.strip(),
        root=mounts[0] if mounts else None,
        bundles=tuple(sorted(sections.get("bundles", "").split())),
        neighbours={
            name.removeprefix(_NEIGHBOUR): text.encode()
            for name, text in sections.items()
            if name.startswith(_NEIGHBOUR)
        },
        narrow=tuple(row[1] for row in peers if row[0] == "narrow"),
        rdma="rdma" in node,
        gpu_support="gpu_support" in node,
        cma_total=memory.get("CmaTotal", 0),
        cma_free=memory.get("CmaFree", 0),
    )


def _docker_error(docker: Mapping[str, str]) -> str | None:
    if "missing" in docker:
        return "there is no docker program"
    return docker.get("error", None if docker.get("version") else "the Docker Engine does not answer")


def _listeners(text: str) -> dict[int, Listener]:
    rows = list(_rows(text))
    processes = {row[1]: row for row in rows if row[0] == "process" and len(row) == 5}
    found: dict[int, Listener] = {}
    for row in rows:
        if row[0] != "socket" or len(row) != 4:
            continue
        port, uid, inode = _port(row[1]), _integer(row[2]), row[3]
        if inode in processes:
            _, _, pid, container, command = processes[inode]
            found[port] = Listener(uid, command, _integer(pid), container or None)
        else:
            found.setdefault(port, Listener(uid))
    return found


def _mounts(paths: Iterable[str], text: str) -> Iterator[Mount]:
    for path, row in zip(paths, _rows(text), strict=False):
        if len(row) == 5:
            kind, writable, creatable, owner, filesystem = row
            yield Mount(
                source=path,
                kind=None if kind == "none" else kind,
                writable=writable == "yes",
                owner=owner or None,
                creatable=creatable == "yes",
                filesystem=filesystem or None,
            )


def _interfaces(text: str) -> dict[str, Interface]:
    rows = list(_rows(text))
    addresses: dict[str, list[str]] = {}
    for row in rows:
        if row[0] == "address" and len(row) == 3:
            addresses.setdefault(row[1], []).append(row[2])
    return {
        row[1]: Interface(row[1], row[2], _integer(row[3]), tuple(addresses.get(row[1], ())))
        for row in rows
        if row[0] == "interface" and len(row) == 4
    }


def _hcas(text: str) -> dict[str, Hca]:
    gids: dict[str, dict[int, tuple[str, str, str]]] = {}
    states = {}
    for row in _rows(text):
        if row[0] == "hca" and len(row) == 3:
            states[row[1]] = row[2]
        elif row[0] == "gid" and len(row) == 6:
            gids.setdefault(row[1], {})[_integer(row[2])] = (row[3], row[4], row[5])
    return {name: Hca(name, state, dict(sorted(gids.get(name, {}).items()))) for name, state in sorted(states.items())}


def _models(query: Query, text: str) -> Iterator[Snapshot]:
    answers: list[list[list[str]]] = []
    for row in _rows(text):
        if row[0] == "model":
            answers.append([])
        elif answers:
            answers[-1].append(row)
    for place, rows in zip(query.models, answers, strict=False):
        values = {row[0]: row[1] for row in rows if row[0] != "missing"}
        missing = tuple(row[1] for row in rows if row[0] == "missing")
        yield Snapshot(place.model, values.get("revision"), missing, values.get("owner") or None)


def _memory(text: str) -> dict[str, int]:
    """Return /proc/meminfo in bytes; its kB are KiB."""
    lines = (line.split() for line in text.splitlines())
    return {
        words[0].removesuffix(":"): int(words[1]) * 1024 for words in lines if len(words) == 3 and words[1].isdecimal()
    }


def _disks(text: str) -> dict[str, int]:
    free = {}
    for line in text.splitlines():
        amount, _, mount = line.strip().partition(" ")
        if amount.isdecimal():
            free[mount.strip()] = int(amount)
    return free


def _values(text: str) -> dict[str, str]:
    return {row[0]: row[1] for row in _rows(text)}


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        row = line.split("\t")
        if len(row) > 1:
            yield row


def _port(text: str) -> int:
    """Return a port of /proc/net/tcp, in hex; 0, which nothing listens on, for anything else."""
    try:
        return int(text, 16)
    except ValueError:
        return 0


def _integer(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
