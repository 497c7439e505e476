"""Which part of the weights each rank holds.

Tensor parallelism splits matrices by rows or columns (vllm/model_executor/layers/linear.py), the embedding and the
output head by vocabulary, and copies what is small or comes before the split: norms, routers, the low-rank projections
of latent attention. Experts are split over all ranks of a stage, data parallel ones included, as slices or whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

from sparkc.fit.model import Architecture, Basis, Checkpoint, KeyValue, Latent, Tensor
from sparkc.record import dataclass

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_DRAFT = re.compile(r"(?:^|\.)(?:mtp|nextn|eagle)")
_ENCODER = re.compile(r"(?:^|\.)(?:visual|vision|audio|vpm|apm|mm_projector|multi_modal_projector|embed_vision)")
_COPIED = re.compile(r"norm|\.gate\.|router|q_a_proj|kv_a_proj|indexer|\.bias$|sinks|e_score")
_EXPERT = re.compile(r"\.experts\.")
_KEYS = re.compile(r"\.[kv]_proj\.")


@dataclass(frozen=True)
class Split:
    """Bytes by how ranks share them: cut over the tensor ranks, by key-value head, by expert, or copied."""

    cut: float = 0.0
    heads: float = 0.0
    experts: float = 0.0
    copied: float = 0.0

    def __add__(self, other: Split) -> Split:
        return Split(
            self.cut + other.cut,
            self.heads + other.heads,
            self.experts + other.experts,
            self.copied + other.copied,
        )

    def times(self, factor: float) -> Split:
        """Return this split scaled."""
        return Split(self.cut * factor, self.heads * factor, self.experts * factor, self.copied * factor)

    def per_rank(self, tensor: int, data: int, heads: int) -> float:
        """Return one rank's bytes. ``heads``: the model's key-value heads, of which a rank keeps at least one."""
        shared = min(tensor, heads) if heads else tensor
        return self.cut / tensor + self.heads / shared + self.experts / (tensor * data) + self.copied

    @property
    def total(self) -> float:
        """All bytes."""
        return self.cut + self.heads + self.experts + self.copied


@dataclass(frozen=True)
class Parts:
    """A checkpoint by its place in the model."""

    layers: tuple[Split, ...]
    draft: Split
    embedding: float
    head: float
    encoder: float
    other: float
    basis: Basis
    formula: str


def parts_of(checkpoint: Checkpoint, architecture: Architecture) -> Parts:
    """Return the parts: counted tensor by tensor where the headers are known, else estimated from the total."""
    if checkpoint.tensors:
        return _counted(checkpoint.tensors, architecture)
    return _estimated(checkpoint, architecture)


def stage_weights(
    parts: Parts,
    layers: Sequence[int],
    architecture: Architecture,
    tensor: int,
    data: int,
    *,
    first: bool,
    last: bool,
    whole_encoder: bool = False,
) -> int:
    """Return the bytes on each rank of one pipeline stage, which holds the layers numbered ``layers``.

    ``whole_encoder``: the image encoder is data parallel, so each rank has all of it.
    """
    heads = key_value_heads(architecture)
    held = sum(parts.layers[number].per_rank(tensor, data, heads) for number in layers)
    if first or (last and architecture.tied):
        held += parts.embedding / tensor
    if first:
        held += parts.encoder / (1 if whole_encoder else tensor)
    if last:
        held += parts.head / tensor + parts.other
    return ceil(held)


def key_value_heads(architecture: Architecture) -> int:
    """Return the smallest number of key-value heads of a layer, 0 when no layer has any."""
    return min((layer.heads for layer in architecture.layers if isinstance(layer, KeyValue)), default=0)


def _counted(tensors: Sequence[Tensor], architecture: Architecture) -> Parts:
    count = len(architecture.layers)
    layers = [Split() for _ in range(count)]
    draft = Split()
    embedding = head = encoder = other = 0
    for tensor in tensors:
        name, size = tensor.name, tensor.size
        match = _LAYER.search(name)
        if _DRAFT.search(name) or (match and int(match[1]) >= count and not _ENCODER.search(name)):
            draft += _split(name, size)
        elif _ENCODER.search(name):
            encoder += size
        elif match:
            layers[int(match[1])] += _split(name, size)
        elif "lm_head" in name or name.startswith("output."):
            head += size
        elif "embed" in name or "wte" in name:
            embedding += size
        else:
            other += size
    formula = "safetensors headers, split over ranks"
    return Parts(tuple(layers), draft, embedding, head, encoder, other, "measured", formula)


def _split(name: str, size: int) -> Split:
    if _EXPERT.search(name) and "shared" not in name:
        return Split(experts=size)
    if _COPIED.search(name):
        return Split(copied=size)
    return Split(heads=size) if _KEYS.search(name) else Split(cut=size)


def _estimated(checkpoint: Checkpoint, architecture: Architecture) -> Parts:
    """The vocabulary's matrices are not quantized; what is left is spread evenly over the layers, the draft's too."""
    matrix = architecture.vocabulary * architecture.hidden * 2
    vocabulary = min(matrix * (1 if architecture.tied else 2), checkpoint.total)
    embedding = vocabulary if architecture.tied else vocabulary // 2
    count = len(architecture.layers)
    layer = (checkpoint.total - vocabulary) / (count + len(architecture.draft_layers))
    width = architecture.quantization.bits / 8
    experts = 0.0
    if architecture.experts is not None:
        of = architecture.experts
        experts = of.layers * of.count * 3 * architecture.hidden * of.intermediate * width / count
    kinds = architecture.layers
    row = architecture.hidden * width / count
    heads = row * sum(kind.heads * (kind.key_size + kind.value_size) for kind in kinds if isinstance(kind, KeyValue))
    copied = row * sum(architecture.query_rank + kind.rank + kind.rope for kind in kinds if isinstance(kind, Latent))
    # A guess must not exceed what there is: sizes in config.json can belong to another storage than the checkpoint's.
    copied = min(copied, layer)
    heads = min(heads, layer - copied)
    experts = min(experts, layer - copied - heads)
    one = Split(layer - copied - heads - experts, heads, experts, copied)
    return Parts(
        (one,) * count,
        one.times(len(architecture.draft_layers)),
        embedding,
        vocabulary - embedding,
        0,
        0,
        "estimated",
        f"{checkpoint.how}, spread over layers, split over ranks",
    )
