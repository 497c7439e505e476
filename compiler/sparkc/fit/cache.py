"""What sequences take in the KV cache of one rank, by vLLM's own arithmetic.

vllm/v1/kv_cache_interface.py sizes a layer's block, vllm/v1/core/kv_cache_utils.py puts layers into groups of equal
size that share one pool of equal blocks, and a model with recurrent layers gets blocks so long that a state fits into
one (vllm/platforms/interface.py; https://github.com/vllm-project/vllm/issues/41037 has worked numbers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil

from sparkc.fit.config import ConfigFault
from sparkc.fit.model import KeyValue, Latent, Layer, State
from sparkc.record import dataclass

_SCALE = 4  # a float32
_PLAIN = {"bfloat16": 2.0, "float16": 2.0, "half": 2.0, "bf16": 2.0, "float32": 4.0, "int8": 1.0}


@dataclass(frozen=True)
class CacheRules:
    """What besides the layers decides their sizes. ``cache_type`` is the flag's; ``element`` the model's own size.

    ``cache_bits``: of a checkpoint with a calibrated cache. ``lookahead``: speculative tokens of one step.
    """

    cache_type: str
    element: int
    cache_bits: int | None
    block: int
    batched: int
    lookahead: int
    prefix_caching: bool
    state_size: int | None


@dataclass(frozen=True)
class Slot:
    """One layer on one rank: bytes per ``token`` (of the last ``window`` tokens), or per sequence (``state``)."""

    token: int
    window: int | None
    state: int


@dataclass(frozen=True)
class Pool:
    """The layers' blocks: ``page`` bytes per layer and block, ``group`` layers that share a block's table.

    ``kinds`` holds, for each kind of layer, its slot, the number of its groups, and the tokens of its block. A plain
    pool (layers that all see everything) has ``page`` 0 and counts every layer by itself.
    """

    kinds: tuple[tuple[Slot, int, int], ...]
    group: int
    page: int
    rules: CacheRules

    def sequence(self, length: int) -> int:
        """Return the bytes of one sequence of ``length`` tokens."""
        if not self.page:
            return sum(slot.token * count * ceil(length / block) * block for slot, count, block in self.kinds)
        blocks = sum(groups * self._blocks(slot, length, block) for slot, groups, block in self.kinds)
        return self.group * self.page * blocks

    @property
    def token(self) -> float:
        """Bytes that each further token of a long sequence takes."""
        full = [(slot, count, block) for slot, count, block in self.kinds if slot.window is None and not slot.state]
        if not self.page:
            return float(sum(slot.token * count for slot, count, _ in full))
        return sum(self.group * self.page * groups / block for _, groups, block in full)

    @property
    def fixed(self) -> int:
        """Bytes that a sequence takes besides: recurrent states, and the windows of layers that have one."""
        if not self.page:
            return 0
        bounded = [(slot, groups, block) for slot, groups, block in self.kinds if slot.window is not None or slot.state]
        blocks = sum(groups * self._blocks(slot, _FAR, block) for slot, groups, block in bounded)
        return self.group * self.page * blocks

    def _blocks(self, slot: Slot, length: int, block: int) -> int:
        if slot.state:  # prefix caching keeps the state before the block that is being filled
            return 1 + self.rules.lookahead + self.rules.prefix_caching
        if slot.window is None:
            return ceil(length / block)
        # A step's tokens come on top of the window, and a window need not begin where a block does.
        return ceil(min(slot.window - 1 + self.rules.batched, length) / block) + 1


_FAR = 1 << 40


def pool(slots: Iterable[Slot], rules: CacheRules) -> Pool:
    """Return how the layers of one rank share its cache."""
    counts = Counter(slots)
    if not any(slot.state or slot.window is not None for slot in counts):
        return Pool(tuple((slot, count, rules.block) for slot, count in counts.items()), 1, 0, rules)
    fewest, most = min(counts.values()), max(counts.values())
    group = most if most < 1.5 * fewest else fewest
    state = max(slot.state for slot in counts)
    token = max(slot.token for slot in counts)
    block = max(rules.block, rules.block * ceil(state / (rules.block * token))) if token else 1
    page = max(token * block, state)
    kinds = tuple(
        (slot, ceil(count / group), page // slot.token if slot.token else 1) for slot, count in counts.items()
    )
    return Pool(kinds, group, page, rules)


def slot_of(layer: Layer, tensor: int, rules: CacheRules) -> Slot | None:
    """Return what a layer keeps on one of ``tensor`` ranks, None when nothing.

    Raises:
        ConfigFault: the cache type is not covered here.
    """
    if layer is None:
        return None
    if isinstance(layer, State):
        return Slot(0, None, _state(layer, tensor, rules))
    if isinstance(layer, Latent):  # one vector for all heads, so every rank keeps all of it
        index = layer.index + _SCALE * ceil(layer.index / 128)
        return Slot(_latent(layer, rules) + index, None, 0)
    heads = max(1, layer.heads // tensor)  # more ranks than heads: each head is kept by several
    return Slot(heads * _head(layer, rules), layer.window, 0)


def _head(layer: KeyValue, rules: CacheRules) -> int:
    kind = rules.cache_type
    if kind.endswith("_per_token_head") and kind.startswith(("fp8", "int8")):
        return layer.key_size + layer.value_size + 2 * _SCALE
    if kind in ("nvfp4", "fp4_e2m1"):  # two values to a byte, and an 8-bit scale for each 16
        return sum(size // 2 + size // 16 for size in (layer.key_size, layer.value_size))
    return int((layer.key_size + layer.value_size) * _element(rules))


def _latent(layer: Latent, rules: CacheRules) -> int:
    kind = rules.cache_type
    quarters = layer.rank // 128 * _SCALE  # a float32 scale for each 128 values; the rotary part stays 16-bit
    if kind == "fp8_ds_mla" or (layer.index and kind.startswith("fp8")):
        return layer.rank + quarters + 2 * layer.rope
    if kind == "nvfp4_ds_mla":
        return layer.rank // 2 + layer.rank // 16 + 2 * layer.rope
    return int((layer.rank + layer.rope) * _element(rules))


def _element(rules: CacheRules) -> float:
    if rules.cache_type == "auto":
        return float(rules.element) if rules.cache_bits is None else rules.cache_bits / 8
    if rules.cache_type in ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"):
        return 1.0
    if rules.cache_type in _PLAIN:
        return _PLAIN[rules.cache_type]
    raise ConfigFault(f"is served with the cache type {rules.cache_type!r}, which no formula here covers for it")


def _state(layer: State, tensor: int, rules: CacheRules) -> int:
    """vllm/model_executor/layers/mamba/mamba_utils.py: a convolution's last inputs, and the recurrent state."""
    groups = max(1, ceil(layer.groups / tensor)) if layer.groups else 0
    channels = ceil(layer.channels / tensor) + groups * layer.group_channels
    convolution = channels * (layer.kernel - 1 + rules.lookahead) * rules.element
    element = rules.state_size or layer.element_size or rules.element
    return convolution + ceil(layer.heads / tensor) * layer.elements * element
