"""Checks of one node that hold for every bundle: Docker, Compose, rsync, home, disk, memory, driver."""

from __future__ import annotations

from collections.abc import Iterator

from sparkc.bundle.manifest import RankEntry
from sparkc.patterns import pattern
from sparkc.runner.facts import NodeFacts
from sparkc.runner.findings import GIB, Finding, Looked, gib, on, on_shell

# Raw env files, in which a value stands as it is, came with this version.
COMPOSE = (2, 30)
_VERSION = pattern(r"v?(\d+)\.(\d+)")
# CUDA graphs deadlock on GB10 with this driver.
_BAD_DRIVER = "590."
_DISK_FULL = 256 << 20
_DISK_LOW = 5 * GIB
# What may be in use on an idle node: a desktop takes a few GiB.
_IDLE = 16 * GIB
_DROP = "sync; echo 3 | sudo tee /proc/sys/vm/drop_caches"


def check_node(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    """Yield what is wrong with a node, whatever is to run on it."""
    yield from _docker(rank, facts)
    if facts.rsync is None:
        yield _error(rank, "there is no rsync", on(rank, "sudo", "apt-get", "install", "rsync", terminal=True))
    yield from _home(rank, facts)
    yield from _disk(rank, facts)
    yield from _memory(rank, facts)
    yield from _gpu(rank, facts)
    if facts.stray:
        first = facts.stray.splitlines()[0]
        yield Finding(
            "note",
            rank.node,
            f"the login shell prints {first!r} where no terminal is; sparkc ignores it, other programs may not",
            "let ~/.bashrc print for interactive shells only",
        )


def check_engines(looked: Looked) -> Iterator[Finding]:
    """Yield an error where two nodes turn out to be one Docker Engine: an address or a context points elsewhere."""
    seen: dict[str, RankEntry] = {}
    for rank, facts in looked:
        if facts.engine_id is None:
            continue
        first = seen.setdefault(facts.engine_id, rank)
        if first is not rank:
            yield Finding(
                "error",
                None,
                f"{first.node} and {rank.node} are the same Docker Engine ({facts.engine_id})",
                f"compare `ssh:` of both in the inventory, and what `{on(rank, 'docker', 'context', 'ls')}` shows",
            )


def compose_version(text: str) -> tuple[int, int] | None:
    """Return the first two numbers of Compose's version."""
    match = _VERSION.match(text)
    return None if match is None else (int(match[1]), int(match[2]))


def _docker(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    error = facts.docker_error
    if error is not None:
        if "there is no docker" in error:
            what = f"{error}; PATH was {facts.path}"
            hint = "install Docker Engine (https://docs.docker.com/engine/install/), or link it into /usr/local/bin"
        elif "permission denied" in error:
            what = f"{facts.user} may not use Docker: {error}"
            hint = on(rank, "sudo", "usermod", "-aG", "docker", facts.user, terminal=True)
        else:
            what = f"Docker does not answer: {error}"
            hint = on(rank, "sudo", "systemctl", "restart", "docker", terminal=True)
        yield _error(rank, what, hint)
        if "there is no docker" in error:
            return
    install = "install docker-compose-plugin from Docker's package source, or Ubuntu's docker-compose-v2"
    if facts.compose is None:
        yield _error(rank, "there is no `docker compose`", install)
    elif (version := compose_version(facts.compose)) is None or version < COMPOSE:
        wanted = ".".join(map(str, COMPOSE))
        yield _error(rank, f"Compose is {facts.compose}; raw env files need {wanted} or newer", install)


def _home(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    if facts.home != rank.home:
        yield _error(
            rank,
            f"{facts.user}'s home is {facts.home}, but the inventory says {rank.home}",
            f"write `home: {facts.home}` for {rank.node} in the inventory and compile again",
        )
    elif facts.root is not None and not (facts.root.writable or (facts.root.kind is None and facts.root.creatable)):
        yield _error(
            rank,
            f"{facts.user} cannot write to {facts.root.source}, where releases are kept (owner: {facts.root.owner})",
            on(rank, "sudo", "chown", "-R", facts.user, facts.root.source, terminal=True),
        )


def _disk(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    for mount, free in facts.disk_free.items():
        if free < _DISK_LOW:
            full = free < _DISK_FULL
            yield Finding(
                "error" if full else "warning",
                rank.node,
                f"only {gib(free)} are free on {mount}",
                f"{on(rank, 'docker', 'system', 'df')} shows what Docker keeps, `docker image prune` frees images",
            )


def _memory(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    used = facts.memory_total - facts.memory_available
    if used > _IDLE and not any(container.state == "running" and container.bundle for container in facts.containers):
        yield Finding(
            "warning",
            rank.node,
            f"{gib(used)} of {gib(facts.memory_total)} are in use although no bundle runs",
            f"{on(rank, 'ps', 'aux', '--sort=-rss')} shows by whom; what no process holds, a crashed container left in "
            "the GPU's hands until a reboot",
        )
    if facts.memory_total and facts.page_cache > facts.memory_total // 2:
        yield Finding(
            "note",
            rank.node,
            f"the page cache holds {gib(facts.page_cache)} of what CPU and GPU share; loading may fail on it",
            on_shell(rank, _DROP, terminal=True),
        )
    if facts.swap_total:
        yield Finding(
            "note",
            rank.node,
            f"swap is on ({gib(facts.swap_total)}): a node that runs out of memory stands still instead of failing",
            on(rank, "sudo", "swapoff", "-a", terminal=True),
        )
    if facts.cma_free > facts.cma_total:
        yield Finding(
            "warning",
            rank.node,
            "CmaFree is above CmaTotal: this kernel leaks memory that RDMA needs (`Cannot allocate memory`)",
            "boot with kho=off",
        )


def _gpu(rank: RankEntry, facts: NodeFacts) -> Iterator[Finding]:
    if not facts.gpu_support:
        yield Finding(
            "warning",
            rank.node,
            "neither the NVIDIA Container Toolkit nor a CDI specification was found; Docker may have no GPU to give",
            on(rank, "sudo", "apt-get", "install", "nvidia-container-toolkit", terminal=True),
        )
    if facts.driver is None:
        yield Finding("warning", rank.node, "the NVIDIA driver is not loaded", on(rank, "nvidia-smi"))
    elif facts.driver.startswith(_BAD_DRIVER) and facts.architecture == "aarch64":
        yield Finding(
            "warning",
            rank.node,
            f"with driver {facts.driver} CUDA graphs deadlock on GB10",
            "stay with driver 580, or let the engine run without CUDA graphs (vLLM: --enforce-eager)",
        )


def _error(rank: RankEntry, what: str, hint: str) -> Finding:
    return Finding("error", rank.node, what, hint)
