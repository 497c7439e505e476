"""What is known about a model, and what the sum says about it. Sizes are in bytes everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sparkc.record import dataclass, field

GIB = 1 << 30

# "measured": counted in the checkpoint, or reported by a run. "config": follows from config.json and the flags by the
# engine's own formula. "estimated": a rule of thumb; the formula's name leads to its text in docs/reference/fit.md.
Basis = Literal["measured", "config", "estimated"]

# Part of the engine's own limit, beside it, or not in the sum at all.
Place = Literal["budget", "beside", "reclaimable"]


@dataclass(frozen=True)
class KeyValue:
    """A layer that keeps keys and values per head. ``window`` in tokens, None for all of them."""

    heads: int
    key_size: int
    value_size: int
    window: int | None = None


@dataclass(frozen=True)
class Latent:
    """A layer of multi-head latent attention: one vector for all heads. ``index`` is a sparse indexer's head size."""

    rank: int
    rope: int
    index: int = 0


@dataclass(frozen=True)
class State:
    """A recurrent layer: a state per sequence, whatever its length.

    ``elements`` per head of the recurrent state; ``channels`` of the convolution that are split with the heads, and
    ``group_channels`` for each of ``groups`` groups, of which every rank needs at least one.
    """

    heads: int
    elements: int
    channels: int
    kernel: int
    groups: int = 0
    group_channels: int = 0
    element_size: int | None = None


# None: the layer keeps nothing (a plain MLP, or one that shares another layer's cache).
Layer = KeyValue | Latent | State | None


@dataclass(frozen=True)
class Experts:
    """Mixture of experts in ``layers`` layers."""

    count: int
    per_token: int
    intermediate: int
    layers: int


@dataclass(frozen=True)
class Quantization:
    """How the checkpoint stores most weights: ``bits`` of one with its scales; ``cache_bits`` of a calibrated cache."""

    name: str
    bits: float
    cache_bits: int | None = None


@dataclass(frozen=True)
class Architecture:
    """What config.json says. ``draft_layers`` are the multi-token prediction layers inside the checkpoint."""

    layers: tuple[Layer, ...]
    draft_layers: tuple[Layer, ...]
    hidden: int
    intermediate: int
    vocabulary: int
    tied: bool
    element_size: int
    max_length: int | None
    quantization: Quantization
    experts: Experts | None = None
    query_rank: int = 0
    multimodal: bool = False


@dataclass(frozen=True)
class Tensor:
    """One tensor of a checkpoint."""

    name: str
    size: int


@dataclass(frozen=True)
class Checkpoint:
    """The weights on disk. ``tensors`` is empty when only the total is known; ``how`` says where the total is from."""

    total: int
    basis: Basis
    how: str
    tensors: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Model:
    """One model.

    ``token_size`` is a measured KV cache size per token and rank, for what no formula here covers. ``config`` is the
    config.json that it was read from, None where a file of facts stood for it.
    """

    name: str
    architecture: Architecture
    checkpoint: Checkpoint
    token_size: int | None = None
    config: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Line:
    """One addend, and the name of the formula behind it."""

    name: str
    size: int
    basis: Basis
    formula: str
    place: Place = "budget"


@dataclass(frozen=True)
class RankFit:
    """One rank's sum.

    ``lines`` without the KV cache, whose size is ``pool``: what the engine's limit leaves (below 0: nothing).
    ``sequence`` is what one sequence of the maximum length takes, ``token`` what each further token does, ``fixed``
    the state of a sequence. ``length`` is the longest sequence that fits, at most the maximum.
    """

    rank: int
    node: str
    memory: int
    memory_from: str
    layers: int
    lines: tuple[Line, ...]
    pool: int
    pool_basis: Basis
    pool_formula: str
    token: float
    fixed: int
    sequence: int
    tokens: int
    length: int

    @property
    def budget(self) -> int:
        """What the engine takes for itself, the KV cache included."""
        return max(self.pool, 0) + sum(line.size for line in self.lines if line.place == "budget")

    @property
    def total(self) -> int:
        """What the node has to hold."""
        return self.budget + sum(line.size for line in self.lines if line.place == "beside")

    @property
    def left(self) -> int:
        """What stays free on the node; below 0 when it is too small."""
        return self.memory - self.total


@dataclass(frozen=True)
class Fit:
    """The sum for all ranks. ``problems`` is empty when the recipe fits; ``advice`` says what would help."""

    ranks: tuple[RankFit, ...]
    tightest: RankFit
    limit: str
    max_length: int
    sequences: int
    cache: str
    cache_basis: Basis
    problems: tuple[str, ...]
    advice: tuple[str, ...] = field(default=())

    @property
    def fits(self) -> bool:
        """True when every rank holds its share and one sequence of the maximum length."""
        return not self.problems
