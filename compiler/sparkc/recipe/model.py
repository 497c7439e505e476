"""The recipe that every dialect becomes.

A recipe is still a template: commands hold parameters, which planning fills in from ``defaults`` and the
overrides (``--port``, ``--set``), and per rank (``{node.address}``). Every value is traced.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sparkc.reading.source import Source, Span
from sparkc.record import dataclass, field
from sparkc.traced import Origin, Traced


@dataclass(frozen=True)
class Text:
    """Characters that stay as they are."""

    text: str


@dataclass(frozen=True)
class Param:
    """A placeholder such as ``{port}``; ``name`` is what stood in the braces.

    ``context`` says how its value is inserted: "data" never splits (inside quotes, and everywhere in a
    native recipe), "words" is split by POSIX rules (outside quotes in a v1 command, where recipes rely on
    ``"a b"`` becoming two words). In the shell text of a script, "single" and "double" stand inside quotes
    of that kind, "heredoc" in a here-document that the shell expands, "data" in one that it does not, and
    "words" outside; "json" stands inside a JSON string. The value is escaped for its place, never scanned again.
    """

    name: str
    span: Span
    context: Literal["data", "words", "single", "double", "heredoc", "json"] = "data"


Part = Text | Param


@dataclass(frozen=True)
class Word:
    """One argv item before its parameters are filled in.

    ``shell`` is the same word as shell source, set only inside scripts, where expansions stay live.
    """

    parts: tuple[Part, ...]
    origin: Origin
    shell: tuple[Part, ...] | None = None


@dataclass(frozen=True)
class Argv:
    """A command that needs no shell: exact argv items."""

    words: tuple[Word, ...]


@dataclass(frozen=True)
class Script:
    """A command that needs a shell (operators, expansions, several commands).

    The engine's own simple command is kept apart, so that rank flags go after its last word and before
    comments, pipes and redirections. ``engine`` is empty when no engine command was recognised; ``before``
    then holds everything. ``shebang`` is the interpreter line without ``#!`` (e.g. "/bin/bash").
    """

    before: tuple[Part, ...]
    engine: tuple[Word, ...]
    after: tuple[Part, ...]
    shebang: str
    origin: Origin


Command = Argv | Script

# An environment value as template parts; None means "absent", which removes the key from lower layers.
EnvValue = tuple[Part, ...] | None


@dataclass(frozen=True)
class Parallel:
    """Parallel sizes that a recipe states as fields (not those inside its command text)."""

    tensor: Traced[int] | None = None
    pipeline: Traced[int] | None = None
    data: Traced[int] | None = None


@dataclass(frozen=True)
class MountSpec:
    """A bind mount before the node's home is known. ``source`` may start with ``~/``.

    ``create``: the runner makes a missing source as the login user; otherwise a missing source is a
    preflight error.
    """

    source: Traced[str]
    target: Traced[str]
    read_only: bool = False
    create: bool = False


@dataclass(frozen=True)
class ContainerSpec:
    """Container settings that a recipe states; None leaves the built-in value.

    Sizes are Compose byte strings ("64gb"), ``ulimits`` maps a name to one number for soft and hard.
    """

    privileged: Traced[bool] | None = None
    ipc_host: Traced[bool] | None = None
    shm_size: Traced[str] | None = None
    memory: Traced[str] | None = None
    memory_swap: Traced[str] | None = None
    pids: Traced[int] | None = None
    devices: tuple[Traced[str], ...] = ()
    security_opt: tuple[Traced[str], ...] = ()
    ulimits: Mapping[str, Traced[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class HealthSpec:
    """How a recipe wants its server probed; None leaves the engine's own value. Times in seconds."""

    path: Traced[str] | None = None
    port: Traced[int] | None = None
    start_period: Traced[int] | None = None
    interval: Traced[int] | None = None


@dataclass(frozen=True)
class Deviation:
    """A declared difference from ``derived_from``; ``at`` is the place of its key."""

    key: str
    reason: str
    at: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Recipe:
    """What to serve, before it meets an inventory.

    ``base_name`` gives the bundle its identity: the native ``name``, or the file's stem.
    ``arguments_only``: ``command`` holds only the arguments after the model; the engine puts its program,
    the model and the flags that fields imply before them. Otherwise ``command`` is the whole command.
    ``entrypoint``: () is cleared, a tuple runs first, None keeps the image's own.
    """

    source: Source
    dialect: str
    title: str
    base_name: Traced[str]
    engine: Traced[str]
    image: Traced[str]
    command: Command
    arguments_only: bool = False
    description: str = ""
    engine_version: Traced[str] | None = None
    image_notes: str = ""
    model: Traced[str] | None = None
    parent_model: Traced[str] | None = None
    revision: Traced[str] | None = None
    served_model_name: tuple[Traced[str], ...] = ()
    host: Traced[str] | None = None
    port: Traced[int] | None = None
    parallel: Parallel = field(default_factory=Parallel)
    nodes: Traced[int] | None = None
    cluster_only: Traced[bool] | None = None
    solo_only: Traced[bool] | None = None
    defaults: Mapping[str, Traced[str]] = field(default_factory=dict)
    env: Mapping[str, Traced[EnvValue]] = field(default_factory=dict)
    secrets: tuple[Traced[str], ...] = ()
    mods: tuple[Traced[str], ...] = ()
    mounts: tuple[MountSpec, ...] = ()
    entrypoint: Traced[tuple[str, ...] | None] | None = None
    container: ContainerSpec = field(default_factory=ContainerSpec)
    health: HealthSpec = field(default_factory=HealthSpec)
    ready_timeout: Traced[int] | None = None
    earlyoom: Traced[str] | None = None
    links: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    derived_from: Mapping[str, Traced[str]] = field(default_factory=dict)
    deviations: tuple[Deviation, ...] = ()
