"""A model's facts as the text of a ``models/`` file: what the sum looks at, and nothing else of config.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkc.fit.architecture import MODALITIES
from sparkc.fit.config import WRAPPERS

# Whole sections; of any other mapping nothing is read. Their lists of module names can have thousands of lines.
_SECTIONS = {*WRAPPERS, "quantization_config", "compression_config", "linear_attn_config"}
_QUANTIZATION = {"config_groups", "kv_cache_scheme"}
_LISTS = {
    "attn_type_list",
    "compress_ratios",
    "hybrid_layer_pattern",
    "kda_layers",
    "layer_types",
    "layers_block_type",
    "moe_layer_freq",
}


def facts_text(name: str, config: Mapping[str, Any], weights: int) -> str:
    """Return the file (schemas/model.schema.json) of a model called ``name`` whose weights take so many bytes."""
    lines = [
        "# What is known about this model, for `sparkc fit` and the README of its bundles. Of config.json only what",
        "# the sum looks at. Written by `sparkc fit --save`.",
        "sparkc_model: 1",
        f"model: {json.dumps(name)}",
        f"weights_bytes: {weights}",
        "config:",
    ]
    # JSON in one line is YAML too; a line for each key, so that a change shows as one.
    lines += [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in needed(config).items()]
    return "\n".join([*lines, ""])


def needed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the sum; fractions, such as a norm's epsilon, never do."""
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            if key in _SECTIONS:
                kept[key] = needed(value)
            elif key in _QUANTIZATION:
                kept[key] = _plain(value)
            elif key in MODALITIES:
                kept[key] = {}
        elif isinstance(value, list):
            if key in _LISTS:
                kept[key] = value
        elif not isinstance(value, float) and (not isinstance(value, str) or value.isascii()):
            kept[key] = value
    return kept


def _plain(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested mappings without their lists, which name the modules that a scheme is for."""
    return {
        key: _plain(value) if isinstance(value, Mapping) else value
        for key, value in section.items()
        if not isinstance(value, list | float)
    }
