"""What a node is found to be: the answer of the one look that a command takes at it."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.record import dataclass, field


@dataclass(frozen=True)
class Container:
    """One container, of ours or not. ``state`` is Docker's (running, exited, created, restarting, paused, dead).

    ``health`` is None without a health check, else starting, healthy or unhealthy. ``started`` and ``finished`` are
    seconds since 1970 on the node's clock, None where it never did. ``restarts`` counts Docker's own. ``published``
    are the node's TCP ports that Docker passes on to it; with ``host_network`` it listens on the node's ports itself.
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
    host_network: bool = False
    published: tuple[int, ...] = ()

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
    """What a node keeps of one bundle. ``manifest`` is the current release's bundle.json.

    ``ports`` maps the digest of every rank in the kept releases to the ports that it holds.
    """

    kept: tuple[Release, ...]
    current: str | None
    previous: str | None
    manifest: bytes | None
    lock: Holder | None
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def find(self, digest: str) -> Release | None:
        """Return the kept release with ``digest``, or None."""
        return next((release for release in self.kept if release.digest == digest), None)


@dataclass(frozen=True)
class Mount:
    """A path on the node, such as a mount's source. ``kind`` is directory, file, other or None when it is not there.

    ``creatable``: the login user may make it, or something in it. ``owner`` and ``filesystem`` (such as nfs) are those
    of the nearest folder that is there.
    """

    source: str
    kind: str | None
    writable: bool
    owner: str | None
    creatable: bool = True
    filesystem: str | None = None


@dataclass(frozen=True)
class Listener:
    """What listens on a TCP port. ``process`` is known of the login user's own ones, or to root.

    ``container`` is the id of the container that the process is in, ``uid`` the user it runs as.
    """

    uid: int
    process: str | None = None
    pid: int | None = None
    container: str | None = None


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
    """A model on the node. ``missing`` names files that its index lists and that are not there.

    ``revision`` is None when nothing of it is there, "" for a folder that is no snapshot. ``owner`` is its folder's.
    """

    model: str
    revision: str | None
    missing: tuple[str, ...]
    owner: str | None = None


@dataclass(frozen=True)
class NodeFacts:
    """One node as it is now. What could not be found out is None; ``docker_error`` says why Docker gave nothing.

    ``clock`` is the node's own, in seconds since 1970. Memory and disk are in bytes; ``disk_free`` is by mount point.
    ``listeners`` is by TCP port. ``unreachable`` lists fabric addresses of peers that did not answer, ``narrow`` those
    that no packet of the link's full width reached. ``stray`` is what the login shell printed. ``root`` is where the
    releases lie; ``bundles`` are those that have any, ``neighbours`` maps other bundles with a container here to their
    current bundle.json. ``cma_free`` over ``cma_total`` is a leak of kernel 7.0
    (https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark/issues/259). ``rdma`` tells that
    /dev/infiniband is there, ``gpu_support`` that the NVIDIA Container Toolkit is.
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
    listeners: Mapping[int, Listener]
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
    root: Mount | None = None
    bundles: tuple[str, ...] = ()
    neighbours: Mapping[str, bytes] = field(default_factory=dict)
    narrow: tuple[str, ...] = ()
    rdma: bool = True
    gpu_support: bool = True
    cma_total: int = 0
    cma_free: int = 0

    def of(self, bundle: str) -> Container | None:
        """Return the bundle's container, or None."""
        return next((container for container in self.containers if container.bundle == bundle), None)
