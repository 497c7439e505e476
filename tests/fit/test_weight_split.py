"""What each rank holds of the weights."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.fit.budget import stages
from sparkc.fit.model import Tensor
from sparkc.fit.quantization import quantization
from sparkc.fit.weights import parts_of, stage_weights
from support.fit_models import DENSE, MLA, QWEN, model, read, summed, world

MIB = 1 << 20
TENSORS = (
    Tensor("model.embed_tokens.weight", 64 * MIB),
    Tensor("lm_head.weight", 64 * MIB),
    Tensor("model.norm.weight", 8),
    *(
        Tensor(f"model.layers.{layer}.{name}", size * MIB)
        for layer in range(4)
        for name, size in [
            ("self_attn.q_proj.weight", 16),
            ("self_attn.k_proj.weight", 8),
            ("self_attn.v_proj.weight", 8),
            ("mlp.experts.0.down_proj.weight", 32),
            ("mlp.gate.weight", 1),
        ]
    ),
    Tensor("model.layers.4.eh_proj.weight", 40 * MIB),
)


def held(of, tensor=1, pipeline=1, data=1, stage=0):
    parts = parts_of(of.checkpoint, of.architecture)
    layers = stages(len(of.architecture.layers), pipeline)[stage]
    first, last = stage == 0, stage == pipeline - 1
    return stage_weights(parts, layers, of.architecture, tensor, data, first=first, last=last)


def test_one_rank_holds_everything_but_the_draft():
    assert held(model(DENSE, tensors=TENSORS)) == (64 + 64 + 4 * 65) * MIB + 8


def test_tensor_ranks_split_matrices_and_copy_what_is_small():
    # halves of vocabulary, queries, keys, values and experts; routers and the norm whole
    assert held(model(DENSE, tensors=TENSORS), 2) == (64 + 4 * (8 + 4 + 4 + 16 + 1)) * MIB + 8
    # 4 key-value heads on 8 ranks: a quarter each
    assert held(model(DENSE, tensors=TENSORS), 8) == (16 + 4 * (2 + 2 + 2 + 4 + 1)) * MIB + 8


def test_data_parallel_ranks_share_experts_only():
    assert held(model(DENSE, tensors=TENSORS), data=2) == (128 + 4 * (16 + 8 + 8 + 16 + 1)) * MIB + 8


def test_pipeline_stages_hold_layers_and_the_ends_the_vocabulary():
    of = model(DENSE, tensors=TENSORS)

    assert held(of, pipeline=2, stage=0) == (64 + 2 * 65) * MIB
    assert held(of, pipeline=2, stage=1) == (64 + 2 * 65) * MIB + 8
    tied = model({**DENSE, "tie_word_embeddings": True}, tensors=TENSORS[:1] + TENSORS[2:])
    assert held(tied, pipeline=2, stage=1) == (64 + 2 * 65) * MIB + 8


@pytest.mark.parametrize(
    ("layers", "sizes"), [(48, [16, 16, 16]), (61, [20, 21, 20]), (62, [21, 21, 20]), (2, [1, 1, 0])]
)
def test_stages_are_those_of_vllm(layers, sizes):
    assert [len(stage) for stage in stages(layers, 3)] == sizes


def test_without_headers_the_total_is_spread():
    # vocabulary 2 × 1000 × 128 × 2 bytes = 512000; 4 layers of (total - 512000) / 4
    # keys and values: 2 × 4 × 16 × 128 × 2 bytes = 32768 a layer, on 8 ranks a quarter each
    of = model(DENSE, 512_000 + 4 * 200_000)

    assert held(of) == 1_312_000
    assert held(of, 2) == 656_000
    assert held(of, 8) == 64_000 + 4 * ((200_000 - 32_768) // 8 + 32_768 // 4)
    assert held(of, pipeline=2) == 256_000 + 2 * 200_000


def test_without_headers_low_rank_projections_are_copies():
    # 128 × (64 + 512 + 64) × 2 bytes = 163840 a layer; the experts do not exceed what is left
    of = model(MLA, 512_000 + 4 * 200_000)

    assert held(of, 2) == 256_000 + 4 * (163_840 + (200_000 - 163_840) // 2)


def test_a_config_that_promises_more_than_there_is_does_not_go_below_nothing():
    assert held(model(MLA, 1000)) == 1000
    assert held(model(QWEN, 1000), 2) == 500


def test_prediction_layers_are_loaded_only_for_speculation():
    config = {**DENSE, "num_nextn_predict_layers": 1}
    of = model(config, tensors=TENSORS)
    spec = '{"method": "mtp", "num_speculative_tokens": 1}'
    plain = {line.name: line.size for line in summed(of).tightest.lines}
    drafted = {line.name: line for line in summed(of, "--speculative-config", spec).tightest.lines}

    assert "draft (mtp)" not in plain
    assert drafted["draft (mtp)"].size == 40 * MIB
    assert drafted["weights"].size == plain["weights"]
    assert drafted["draft, mapped"].size == of.checkpoint.total - 40 * MIB
    assert drafted["draft, mapped"].place == "reclaimable"
    assert summed(of).tightest.token == 1024
    assert summed(of, "--speculative-config", spec).tightest.token == 1280


def test_prediction_layers_that_only_the_weights_show_count_too():
    of = model(DENSE, tensors=(*TENSORS, Tensor("mtp.layers.0.mlp.up_proj.weight", 8 * MIB)))
    found = summed(of, "--speculative-config", '{"method": "mtp"}').tightest

    assert next(line.size for line in found.lines if line.name == "draft (mtp)") == 48 * MIB
    assert found.token == 5 * 256


def test_a_streamed_draft_is_not_mapped():
    of = model({**DENSE, "num_nextn_predict_layers": 1}, tensors=TENSORS)
    words = ("--speculative-config", '{"method": "mtp"}', "--load-format", "instanttensor")

    assert "draft, mapped" not in {line.name for line in summed(of, *words).tightest.lines}


def test_a_draft_of_its_own_is_split_by_its_own_size():
    draft = model({**DENSE, "num_hidden_layers": 1}, 1_024_000)
    words = ("--speculative-config", '{"method": "eagle3", "model": "org/d", "draft_tensor_parallel_size": 1}')
    found = summed(model(DENSE, 8_000_000), *words, sizes=world(2), draft=draft).tightest
    line = next(line for line in found.lines if line.name == "draft (eagle3)")

    assert line.size == 1_024_000
    # 4 layers with two heads each, and the draft's one layer with all four
    assert found.token == 4 * 128 + 256


def test_image_encoders_are_split_or_copied_as_the_command_says():
    of = model(DENSE, tensors=(*TENSORS, Tensor("visual.blocks.9.attn.qkv.weight", 10 * MIB)))

    without = held(model(DENSE, tensors=TENSORS), 2)
    whole = summed(of, "--mm-encoder-tp-mode", "data", sizes=world(2)).tightest.lines[0]

    assert held(of, 2) - without == 5 * MIB
    assert (whole.name, whole.size - without) == ("weights", 10 * MIB)


@pytest.mark.parametrize(
    ("section", "name", "bits"),
    [
        (None, "16-bit", 16),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8 + 32 / 16384),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "awq int4 g128", 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, "gptq int4 g128", 4 + 16 / 128),
        ({"quant_method": "auto-round", "bits": 4, "group_size": -1, "sym": True}, "auto-round int4 g-1", 4),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", 4.5),
        ({"quant_method": "mxfp4"}, "mxfp4", 4.25),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
            },
            "nvfp4",
            4.5,
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": False}}
                },
            },
            "int4",
            4.5 + 4 / 32,
        ),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": -4}}}}, "int-4", 16),
        ({"quant_method": "hqq"}, "hqq", 16),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes 4-bit", 4.5),
    ],
)
def test_bits_per_weight(section, name, bits):
    found = quantization({"quantization_config": section}, 2)

    assert (found.name, found.bits) == (name, pytest.approx(bits))


@given(
    st.sampled_from([DENSE, MLA, QWEN]),
    st.integers(1, 10**9),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([1, 2, 4]),
)
def test_more_ranks_never_hold_more_each(config, total, tensor, data):
    for of in (model(config, total), model(config, tensors=TENSORS[:3] + TENSORS[3:18])):
        assert held(of, 2 * tensor, data=data) <= held(of, tensor, data=data)
        assert held(of, tensor, data=2 * data) <= held(of, tensor, data=data)


@given(st.sampled_from([1, 2, 3, 4]), st.integers(10**6, 10**9))
def test_stages_together_hold_the_model_once(pipeline, total):
    of = model(DENSE, total)

    assert sum(held(of, pipeline=pipeline, stage=stage) for stage in range(pipeline)) == pytest.approx(total, abs=8)
    assert len(read(DENSE).layers) == sum(len(stage) for stage in stages(4, pipeline))
