"""config.json → :class:`Architecture`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkc.diagnostics import Report
from sparkc.fit.config import Config, ConfigFault
from sparkc.fit.layers import draft_layer, layer_count, layers_of
from sparkc.fit.model import Architecture, Experts, Layer
from sparkc.fit.quantization import quantization
from sparkc.reading.source import Span

MODALITIES = ("vision_config", "audio_config", "visual", "vision_tower", "thinker_config")


def architecture(
    config: Mapping[str, Any], name: str, at: Span | None, report: Report, *, measured: bool = False
) -> Architecture | None:
    """Return what ``config`` says, or None after an error. ``name`` is the file's, ``at`` its place in a report.

    ``measured``: the size of a token in the cache is known from a run, so layers need not be understood.
    """
    try:
        return _read(Config(config), measured=measured)
    except ConfigFault as fault:
        report.error(
            "SPK722",
            f"{name} {fault}",
            at,
            hint=fault.hint,
        )
        return None


def _read(config: Config, *, measured: bool) -> Architecture:
    layers: tuple[Layer, ...] = (None,) * layer_count(config) if measured else layers_of(config)
    hidden = config.number("hidden_size", "n_embd")
    size = {"float32": 4, "float": 4}.get(
        str(config.raw("dtype") or config.raw("torch_dtype")).removeprefix("torch."), 2
    )
    draft = config.number("num_nextn_predict_layers", "mtp_num_hidden_layers", "n_mtp_layers", default=0)
    section = {key: config.raw(key) for key in ("quantization_config", "compression_config")}
    return Architecture(
        layers=layers,
        draft_layers=(draft_layer(layers),) * min(draft, 100),
        hidden=hidden,
        intermediate=config.number("intermediate_size", "n_inner", default=4 * hidden),
        vocabulary=config.number("vocab_size"),
        tied=config.raw("tie_word_embeddings") is True,
        element_size=size,
        max_length=config.first("max_position_embeddings", "n_positions", "max_seq_len"),
        quantization=quantization(section, size),
        experts=_experts(config, len(layers)),
        query_rank=config.number("q_lora_rank", default=0),
        multimodal=any(config.has(key) for key in MODALITIES),
    )


def _experts(config: Config, layers: int) -> Experts | None:
    count = config.first("n_routed_experts", "num_experts", "num_local_experts")
    if not count or count < 2:
        return None
    pattern = config.raw("hybrid_override_pattern")
    frequency = config.items("moe_layer_freq")
    if isinstance(pattern, str) and pattern:
        layers = pattern.count("E")
    elif frequency is not None:
        layers = sum(1 for flag in frequency if flag)
    else:
        layers -= min(config.number("first_k_dense_replace", "num_dense_layers", default=0), layers)
    inner = config.number("moe_intermediate_size", "moe_ffn_hidden_size", "expert_hidden_dim", "intermediate_size")
    chosen = config.number("num_experts_per_tok", "num_experts_per_token", "moe_topk", default=8)
    return Experts(count, chosen, inner, layers)
