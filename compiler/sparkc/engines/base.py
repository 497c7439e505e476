"""The protocol of a serving engine. One engine is one file; ``registry.py`` lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.inventory.model import Node
from sparkc.planning.model import Port, Probe, RankPlan, Step
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.record import dataclass
from sparkc.traced import Traced


@dataclass(frozen=True)
class World:
    """Parallel sizes as the engine counts them, traced to the field, flag or argument that gave each.

    ``context`` is that of engines that spread the tokens of a prompt over GPUs of their own, None elsewhere.
    """

    tensor: Traced[int]
    pipeline: Traced[int]
    data: Traced[int]
    context: Traced[int] | None = None

    @property
    def size(self) -> int:
        """GPUs that the model needs in total."""
        return self.tensor.value * self.pipeline.value * self.data.value * (self.context.value if self.context else 1)

    @property
    def stated(self) -> Traced[int] | None:
        """The first size that the recipe or the user gave (rather than our default of one), if any."""
        sizes = (self.tensor, self.pipeline, self.data, self.context)
        return next((size for size in sizes if size is not None and size.origin.kind != "default"), None)

    def __str__(self) -> str:
        context = f" × cp={self.context.value}" if self.context else ""
        return f"tp={self.tensor.value} × pp={self.pipeline.value} × dp={self.data.value}{context}"


@dataclass(frozen=True)
class RankContext:
    """What an engine may know when it plans one rank.

    ``words`` is the command with its parameters filled in. ``nodes`` are those of all ranks, in the order of
    ranks; ``head`` is the first of them. ``port`` is the API port that the recipe, its
    ``{port}`` or the user states; an engine that has a flag for it reads the flag.
    """

    recipe: Recipe
    words: Words
    rank: int
    nnodes: int
    node: Node
    head: Node
    nodes: tuple[Node, ...]
    master_port: Traced[int]
    port: Traced[int] | None = None


@dataclass(frozen=True)
class EngineRank:
    """What an engine decides for one rank.

    ``words`` is the final command; ``env`` holds only names that the engine owns; ``steps`` run before the
    command. ``replaces_command``: the words are the engine's own program, not the recipe's command. Only a rank
    that serves HTTP has a ``probe``. ``deep_probe`` is the path of a one-token
    completion, or None where the engine serves none. Ranks of wave 0 start first; ``stop_grace`` is in seconds.
    """

    words: Words
    env: Mapping[str, Traced[str]]
    ports: tuple[Port, ...]
    probe: Probe | None
    deep_probe: str | None
    wave: int
    stop_grace: int = 60
    steps: tuple[Step, ...] = ()
    replaces_command: bool = False


class Engine(Protocol):
    """One serving engine; ``vllm.py`` is the model to copy."""

    name: str
    counts_world: bool
    """False: the engine has no parallel sizes; every node runs the same command."""

    per_node_env: frozenset[str]
    """Names of ``EngineRank.env`` whose value differs from node to node."""

    def program(self, recipe: Recipe) -> tuple[str, ...]:
        """Return the words that start the server, before the model (arguments-only recipes)."""

    def model_words(self, model: str) -> tuple[str, ...]:
        """Return how the model is written on the command line."""

    def override_flags(self, override: str) -> tuple[str, ...]:
        """Return the spellings of the flag behind an override (``port``, ``tp``, …), the preferred one first."""

    def implied(self, recipe: Recipe, words: Words) -> Words:
        """Return the flags that the recipe's fields imply and ``words`` lacks."""

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:
        """Return the words without what the engine cannot use on ``nnodes`` nodes, and report what is wrong."""

    def api_host(self, words: Words, environment: Mapping[str, Traced[str]]) -> Traced[str]:
        """Return the address that rank 0 serves HTTP on: the command's, else the engine's default."""

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:
        """Read the parallel sizes from the words, else from the recipe's fields, else 1."""

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Return what one rank runs."""

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Prove offline that the ranks will find each other."""
