"""A model's facts from its own files, or from a ``--model-info`` file that repeats them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparkc.diagnostics import Report
from sparkc.fit.architecture import architecture
from sparkc.fit.json_text import read_json
from sparkc.fit.model import Checkpoint, Model, Tensor
from sparkc.reading.fields import Fields
from sparkc.reading.node import Document, Mapping, Node, Scalar
from sparkc.reading.source import Source, Span
from sparkc.reading.validated import read_validated
from sparkc.record import dataclass

_MOST = 10**15  # bytes or parameters; also what schemas/model.schema.json allows


@dataclass(frozen=True)
class Facts:
    """The served model, and the draft model of its own that speculative decoding loads, if any."""

    model: Model
    draft: Model | None = None


def tensors_of(name: str, header: bytes, report: Report) -> tuple[Tensor, ...] | None:
    """Return the tensors that a safetensors header lists, or None after an error.

    ``header`` is the JSON after the file's first eight bytes; a tensor's ``data_offsets`` are its begin and end.
    """
    entries = read_json(name, header, report)
    if entries is None:
        return None
    found: list[Tensor] = []
    for key, entry in entries.items():
        offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
        if key != "__metadata__" and isinstance(offsets, list) and [type(value) for value in offsets] == [int, int]:
            found.append(Tensor(key, max(offsets[1] - offsets[0], 0)))
    return tuple(found)


def shards_of(index: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the files that a ``model.safetensors.index.json`` spreads the tensors over."""
    weights = index.get("weight_map")
    return tuple(sorted({str(file) for file in weights.values()})) if isinstance(weights, dict) else ()


def checkpoint_of_tensors(tensors: Iterable[Tensor]) -> Checkpoint:
    """Return a checkpoint whose every tensor is known."""
    found = tuple(tensors)
    return Checkpoint(sum(tensor.size for tensor in found), "measured", "safetensors headers", found)


def checkpoint_of_index(name: str, index: dict[str, Any], report: Report) -> Checkpoint | None:
    """Return a checkpoint of which only the index's ``metadata.total_size`` is known, or None after an error."""
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, int | float) and 0 < total < 1 << 60:
        return Checkpoint(int(total), "measured", "total_size of the index")
    report.error(
        "SPK721",
        f"{name} has no metadata.total_size",
        Span(Source(name), 1, 1, 1, 1),
        hint="download the weights too, or give weights_bytes in a --model-info file",
    )
    return None


def model_of_files(name: str, file: str, config: bytes, checkpoint: Checkpoint, report: Report) -> Model | None:
    """Return a model from the bytes of its config.json, whose name in reports is ``file``."""
    values = read_json(file, config, report)
    if values is None:
        return None
    found = architecture(values, file, Span(Source(file), 1, 1, 1, 1), report)
    return None if found is None else Model(name, found, checkpoint, config=values)


def read_model_file(document: Document, report: Report) -> Facts | None:
    """Return the facts of a ``--model-info`` file (schemas/model.schema.json), or None after an error."""
    return read_validated(document, "model", report, lambda inner: _facts(Fields(document.root, "", inner)))


def _facts(fields: Fields) -> Facts | None:
    model = _model(fields, "the model")
    section = fields.fields("draft")
    draft = None if section is None else _model(section, "the draft model")
    return None if model is None or (section is not None and draft is None) else Facts(model, draft)


def _model(fields: Fields, title: str) -> Model | None:
    name = fields.text("model")
    size = fields.integer("weights_bytes", minimum=1, maximum=_MOST)
    parameters = fields.integer("parameters", minimum=1, maximum=_MOST)
    token = fields.integer("cache_bytes_per_token", minimum=1, maximum=_MOST)
    config = fields.node("config")
    if not isinstance(config, Mapping):
        return None  # the schema says so
    shown = name.value if name is not None else title
    found = architecture(
        _plain(config), fields.key_path("config"), config.span, fields.report, measured=token is not None
    )
    if found is None:
        return None
    if size is not None:
        checkpoint = Checkpoint(size.value, "measured", "weights_bytes")
    elif parameters is not None:
        # The vocabulary's matrices stay at 16 bits in the quantized checkpoints of the field.
        wide = min(found.vocabulary * found.hidden * (1 if found.tied else 2), parameters.value)
        total = (wide * 2) + (parameters.value - wide) * found.quantization.bits / 8
        how = f"parameters × {found.quantization.bits:.4g} bits ({found.quantization.name})"
        checkpoint = Checkpoint(int(total), "estimated", how)
    else:
        fields.report.error(
            "SPK720",
            f"{shown}: neither weights_bytes nor parameters is given",
            fields.mapping.span,
            hint="write weights_bytes: the total_size in model.safetensors.index.json",
        )
        return None
    return Model(shown, found, checkpoint, None if token is None else token.value)


def _plain(node: Node) -> Any:
    """Return a node's value as JSON would have it."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {entry.key.text: _plain(entry.value) for entry in node.entries}
    return [_plain(item) for item in node.items]
