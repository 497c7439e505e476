"""The protocol of a serving engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sparkc.diagnostics import Report
from sparkc.inventory.model import Node
from sparkc.planning.model import Port, Probe, RankPlan, Step
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced


@dataclass(frozen=True)
class World:
    """Parallel sizes as the engine counts them; each is traced to the field, flag or argument it came from."""

    tensor: Traced[int]
    pipeline: Traced[int]
    data: Traced[int]

    @property
    def size(self) -> int:
        """GPUs that the model needs in total."""
        return self.tensor.value * self.pipeline.value * self.data.value


@dataclass(frozen=True)
class RankContext:
    """What an engine may know when it plans one rank. ``words`` is the command with all parameters filled in."""

    recipe: Recipe
    words: tuple[Traced[str], ...]
    rank: int
    nnodes: int
    node: Node
    head: Node
    world: World
    master_port: Traced[int]
    port: Traced[int] | None


@dataclass(frozen=True)
class EngineRank:
    """What an engine decides for one rank.

    ``words`` is the final command, ``env`` holds only names that the engine owns, ``steps`` run before it.
    ``serves_http`` ranks get the probe; ``wave`` 0 starts first; ``stop_grace`` is in seconds.
    ``deep_probe`` is the path of a one-token completion, or None where the engine serves none.
    """

    words: tuple[Traced[str], ...]
    env: Mapping[str, Traced[str]]
    ports: tuple[Port, ...]
    probe: Probe | None
    deep_probe: str | None
    wave: int
    stop_grace: int
    steps: tuple[Step, ...] = ()


class Engine(Protocol):
    """One serving engine; see ``vllm.py`` for the reference implementation."""

    name: str

    def program(self, recipe: Recipe) -> tuple[Traced[str], ...]:
        """Return the words that come before the arguments of an arguments-only recipe (program, model)."""

    def implied(self, recipe: Recipe, words: Sequence[Traced[str]]) -> tuple[Traced[str], ...]:
        """Return flags that the recipe's fields imply and that ``words`` do not have yet."""

    def world(self, recipe: Recipe, words: Sequence[Traced[str]], report: Report) -> World:
        """Read the parallel sizes from the command, else from the recipe's fields, else 1."""

    def flag_names(self, override: str) -> tuple[str, ...]:
        """Return the spellings of the flag that an override (``port``, ``tp``, …) sets; the first is preferred."""

    def plan_rank(self, context: RankContext, report: Report) -> EngineRank:
        """Return what one rank runs."""

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Prove, offline, that the ranks will find each other."""
