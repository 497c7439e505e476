"""What a node is found to be: the answer of the one look that a command takes at it."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.record import dataclass


@dataclass(frozen=True)
class Container:
    """One container, of ours or not. ``state`` is Docker's (running, exited, created, restarting, paused, dead).

    ``health`` is None without a health check, else starting, healthy or unhealthy. ``started`` and ``finished`` are
    seconds since 1970 on the node's clock, None where it never did. ``restarts`` counts Docker's own.
    """

    id: str
    name: str
    image: str
    image_id: str
    state: str
    health: str | None
    exit_code: int
    started: float | None
    finished: float | None
    restarts: int
    out_of_memory: bool
    labels: Mapping[str, str]

    @property
    def bundle(self) -> str | None:
        """The bundle it belongs to, or None for a foreign container."""
        return self.labels.get("sparkc.bundle")

    @property
    def rank_digest(self) -> str | None:
        """The digest of the rank folder it was started from."""
        return self.labels.get("sparkc.rank-digest")

    @property
    def serves(self) -> bool:
        """Whether it runs and, where it has a health check, passes it."""
        return self.state == "running" and self.health in (None, "healthy")


@dataclass(frozen=True)
class Image:
    """An image on a node. ``layers`` are its RootFS diff ids, the same in every image store, unlike ``id``."""

    id: str
    digests: tuple[str, ...]
    layers: tuple[str, ...]
    architecture: str
    os: str
    environment: tuple[str, ...]


@dataclass(frozen=True)
class Release:
    """One kept release of a bundle on a node. ``changed`` names files that are not as its bundle.json says.

    ``deployed`` is when it was last started, in seconds since 1970 on the node's clock. ``secrets_sha256`` is of its
    secrets file, None without one.
    """

    digest: str
    deployed: float
    changed: tuple[str, ...]
    secrets_sha256: str | None


@dataclass(frozen=True)
class Holder:
    """Who holds a bundle's lock, for what, and until when (node's clock); ``alive`` is False once its sparkc is gone.

    ``who`` is user@machine, ``pid`` the process there.
    """

    who: str
    pid: int
    doing: str
    since: float
    deadline: float
    alive: bool


@dataclass(frozen=True)
class Releases:
    """What a node keeps of one bundle. ``manifest`` is the current release's bundle.json."""

    kept: tuple[Release, ...]
    current: str | None
    previous: str | None
    manifest: bytes | None
    lock: Holder | None


@dataclass(frozen=True)
class Mount:
    """A mount's source on the node. ``kind`` is directory, file, other or None when it does not exist."""

    source: str
    kind: str | None
    writable: bool
    owner: str | None


@dataclass(frozen=True)
class Interface:
    """A network interface: ``state`` as in operstate, ``addresses`` without prefix lengths."""

    name: str
    state: str
    mtu: int
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Hca:
    """An RDMA device's port 1: ``state`` such as ACTIVE, ``gids`` by index as (address, type, interface)."""

    name: str
    state: str
    gids: Mapping[int, tuple[str, str, str]]


@dataclass(frozen=True)
class Snapshot:
    """A model in the Hugging Face cache. ``missing`` names files that its index lists and that are not there.

    ``revision`` is None when nothing of it is there.
    """

    model: str
    revision: str | None
    missing: tuple[str, ...]


@dataclass(frozen=True)
class NodeFacts:
    """One node as it is now. What could not be found out is None; ``docker_error`` says why Docker gave nothing.

    ``clock`` is the node's own, in seconds since 1970. Memory and disk are in bytes; ``disk_free`` is by path.
    ``listeners`` maps TCP ports that something listens on to what it is, as far as the login user may know.
    ``unreachable`` lists fabric addresses of peers that did not answer. ``stray`` is what the login shell printed.
    """

    clock: float
    user: str
    uid: int
    home: str
    architecture: str
    path: str
    docker: str | None
    docker_error: str | None
    compose: str | None
    rsync: str | None
    engine_id: str | None
    containers: tuple[Container, ...]
    image: Image | None
    listeners: Mapping[int, str]
    mounts: tuple[Mount, ...]
    interfaces: Mapping[str, Interface]
    hcas: Mapping[str, Hca]
    models: tuple[Snapshot, ...]
    memory_total: int
    memory_available: int
    page_cache: int
    swap_total: int
    disk_free: Mapping[str, int]
    driver: str | None
    unreachable: tuple[str, ...]
    releases: Releases
    stray: str

    def of(self, bundle: str) -> Container | None:
        """Return the bundle's container, or None."""
        return next((container for container in self.containers if container.bundle == bundle), None)
