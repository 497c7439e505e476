"""The plan: everything a bundle says, decided and traced, before a byte of it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from sparkc.diagnostics import Diagnostic
from sparkc.inventory.model import Inventory, Node
from sparkc.recipe.model import Recipe
from sparkc.record import dataclass
from sparkc.traced import Traced

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True)
class Exec:
    """The rank's process as argv, entrypoint words included."""

    argv: tuple[Traced[str], ...]


@dataclass(frozen=True)
class Shell:
    """The rank's process as a script file that its shebang's interpreter runs.

    ``engine_argv`` are the words of the engine's command inside the script, for checks; empty if unknown.
    """

    text: Traced[str]
    interpreter: str
    entrypoint: tuple[Traced[str], ...] = ()
    engine_argv: tuple[Traced[str], ...] = ()


Process = Exec | Shell


@dataclass(frozen=True)
class Step:
    """Something launch.sh does before it starts the process.

    ``deadline`` is None for "run once, stop the rank if it fails"; else the step is retried every two
    seconds until it succeeds or that many seconds have passed. ``title`` is what the log says.
    """

    title: str
    argv: tuple[str, ...]
    deadline: int | None = None


@dataclass(frozen=True)
class Probe:
    """An HTTP probe inside the container: Compose ``test`` list form and times in seconds."""

    test: tuple[str, ...]
    url: str
    start_period: int
    interval: int
    timeout: int = 5
    retries: int = 3


@dataclass(frozen=True)
class Port:
    """A TCP port that a rank listens on in the node's network namespace."""

    name: str
    number: int


@dataclass(frozen=True)
class Mount:
    """A bind mount with absolute paths. ``create``: the runner makes the source as the login user."""

    source: Traced[str]
    target: Traced[str]
    read_only: bool
    create: bool


@dataclass(frozen=True)
class ModFile:
    """One file of a mod: a relative POSIX path, its bytes, and 0o644 or 0o755."""

    path: str
    data: bytes
    mode: int


@dataclass(frozen=True)
class Mod:
    """A mod that is vendored into the bundle.

    ``name`` is the folder's base name: it lands in ``/workspace/mods/<name>``. ``requires`` lists what its
    mod.yaml asks for (``privileged``, ``git``, ``network``). ``every_start``: not skipped by the marker.
    ``native_since``: an engine version that made it unnecessary; ``files`` is then empty and nothing runs.
    """

    name: str
    reference: Traced[str]
    files: tuple[ModFile, ...]
    description: str = ""
    requires: tuple[str, ...] = ()
    every_start: bool = False
    native_since: str = ""


@dataclass(frozen=True)
class Container:
    """Container settings of one rank. Sizes are Compose byte strings, ulimits (soft = hard) are numbers."""

    image: Traced[str]
    network: Traced[Literal["host", "bridge"]]
    privileged: Traced[bool]
    ipc_host: Traced[bool]
    shm_size: Traced[str] | None
    memory: Traced[str] | None
    memory_swap: Traced[str] | None
    pids: Traced[int] | None
    ulimits: Mapping[str, Traced[int]]
    devices: tuple[Traced[str], ...]
    cap_add: tuple[Traced[str], ...]
    security_opt: tuple[Traced[str], ...]
    publish: tuple[Traced[str], ...]
    keep_entrypoint: Traced[bool]
    stop_grace: Traced[int]


@dataclass(frozen=True)
class RankPlan:
    """One rank: one node, one container."""

    rank: int
    node: Node
    role: Literal["solo", "head", "worker"]
    process: Process
    steps: tuple[Step, ...]
    environment: Mapping[str, Traced[str]]
    mounts: tuple[Mount, ...]
    container: Container
    probe: Probe | None
    deep_probe: str | None
    ports: tuple[Port, ...]
    wave: int


@dataclass(frozen=True)
class Endpoint:
    """The API of one rank: its base URL, and whether only programs on the rank's own node reach it."""

    node: str
    url: str
    local: bool


@dataclass(frozen=True)
class Memory:
    """What the sum of the memory comes to on the tightest rank: bytes of weights, tokens that its KV cache holds.

    ``length`` is the longest sequence that is served, ``estimated`` the names of the addends that are no measurement.
    """

    fits: bool
    weights: int
    tokens: int
    length: int
    estimated: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A whole bundle before rendering.

    ``name`` is the bundle's one identity (folder, project, container). ``overrides`` is the JSON-ready record
    that reproduces this compile. ``earlyoom`` holds the watchdog's arguments, already split.
    ``endpoints`` are those of the ranks that serve HTTP, in their order.
    ``models`` lists every model the ranks load (Hub ids or container paths), drafts included; ``revision`` is the
    first one's. ``memory`` is None where nothing is known about the model.
    """

    name: str
    recipe: Recipe
    recipe_path: str
    recipe_sha256: str | None
    inventory: Inventory
    inventory_path: str | None
    overrides: Mapping[str, Json]
    engine: str
    nnodes: int
    ranks: tuple[RankPlan, ...]
    mods: tuple[Mod, ...]
    secrets: tuple[Traced[str], ...]
    earlyoom: Traced[tuple[str, ...]] | None
    models: tuple[Traced[str], ...]
    revision: Traced[str] | None
    parameters: Mapping[str, Traced[str]]
    api_port: Traced[int] | None
    endpoints: tuple[Endpoint, ...]
    ready_timeout: int
    diagnostics: tuple[Diagnostic, ...]
    memory: Memory | None = None

    @property
    def client_url(self) -> str | None:
        """The first URL that clients on other machines reach, None where there is none."""
        return next((endpoint.url for endpoint in self.endpoints if not endpoint.local), None)
