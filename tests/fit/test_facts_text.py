"""A saved file of facts holds what decides the sum, and no more."""

from __future__ import annotations

import pytest

from sparkc.diagnostics import Report
from sparkc.fit.facts import read_model_file
from sparkc.fit.facts_text import facts_text, needed
from sparkc.reading.read import read_document
from support.fit_models import DENSE, MLA, QWEN, read

NOISE = {
    "architectures": ["AForCausalLM"],
    "rms_norm_eps": 1e-06,
    "rope_scaling": {"factor": 8.0, "rope_type": "yarn"},
    "id2label": {str(number): f"LABEL_{number}" for number in range(1000)},
    "chat": "\ud83d",  # half of an emoji, which no file can hold
    "pad_token_id": None,
}
COMPRESSED = {
    "quant_method": "compressed-tensors",
    "ignore": [f"model.layers.{number}.mlp.gate" for number in range(1000)],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": False, "observer_kwargs": {}},
        }
    },
    "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False},
}
KIMI = {
    **DENSE,
    "linear_attn_config": {"kda_layers": [1, 2, 3], "num_heads": 8, "head_dim": 16, "short_conv_kernel_size": 4},
}


@pytest.mark.parametrize(
    "config",
    [
        DENSE,
        MLA,
        QWEN,
        KIMI,
        {**QWEN, "vision_config": {"depth": 27, "hidden_size": 1152}},
        {**DENSE, "quantization_config": COMPRESSED},
        {**DENSE, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True}},
        {**DENSE, "layer_types": ["full_attention", "sliding_attention"] * 2, "sliding_window": 128},
        {**DENSE, "hybrid_layer_pattern": [0, 1, 1, 1], "sliding_window_size": 128, "swa_num_key_value_heads": 8},
        {**MLA, "moe_layer_freq": [0, 1, 1, 1]},
        {**DENSE, "text_config": {"num_hidden_layers": 2, "num_key_value_heads": None}},
    ],
)
def test_the_model_reads_as_before(config):
    text = facts_text("org/model", {**NOISE, **config}, 123_456)
    report = Report()
    document = read_document("models/org--model.yaml", text.encode(), report)
    facts = read_model_file(document, report)

    assert report.diagnostics == ()
    assert facts.model.architecture == read({**NOISE, **config})
    assert (facts.model.name, facts.model.checkpoint.total) == ("org/model", 123_456)
    assert len(text) < 3000


def test_what_the_sum_never_reads_is_left_out():
    assert needed({**NOISE, **DENSE}) == {**DENSE, "pad_token_id": None}


def test_each_key_has_a_line_of_its_own():
    lines = facts_text("org/model", DENSE, 5).splitlines()

    assert lines[-len(DENSE) :] == [
        '  "num_hidden_layers": 4',
        '  "num_attention_heads": 8',
        '  "num_key_value_heads": 4',
        '  "head_dim": 16',
        '  "hidden_size": 128',
        '  "intermediate_size": 512',
        '  "vocab_size": 1000',
        '  "max_position_embeddings": 4096',
        '  "dtype": "bfloat16"',
    ]
