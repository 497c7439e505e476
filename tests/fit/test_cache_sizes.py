"""KV cache per token and sequence, against sums made by hand from the published formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.fit.cache import slot_of
from sparkc.fit.config import ConfigFault
from sparkc.fit.model import KeyValue, Latent, State
from support.fit_models import DENSE, MLA, QWEN, cache, read, refusal, rules

GEMMA = {**DENSE, "num_hidden_layers": 12, "model_type": "gemma3_text", "sliding_window": 32}
# The published sizes of NVIDIA-Nemotron-3-Nano-30B-A3B, shortened to one layer of each kind.
NEMOTRON = {
    **DENSE,
    "hybrid_override_pattern": "MEM*E",
    "num_key_value_heads": 2,
    "head_dim": 128,
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
    "mamba_ssm_cache_dtype": "float32",
    "n_routed_experts": 128,
    "moe_intermediate_size": 64,
}


def test_dense_layers_keep_keys_and_values_of_every_head():
    one = cache(DENSE)

    # 4 layers × 2 × 4 heads × 16 × 2 bytes
    assert one.token == 1024
    assert one.fixed == 0
    # whole blocks of 16: 17 tokens take 32
    assert one.sequence(16) == 16 * 1024
    assert one.sequence(17) == 32 * 1024


@pytest.mark.parametrize(("tensor", "token"), [(1, 1024), (2, 512), (4, 256), (8, 256)])
def test_more_ranks_than_heads_keep_one_head_each(tensor, token):
    assert cache(DENSE, tensor).token == token


@pytest.mark.parametrize(
    ("cache_type", "bytes_per_head"),
    [
        ("auto", 64),
        ("bfloat16", 64),
        ("fp8", 32),
        ("fp8_e4m3", 32),
        ("fp8_per_token_head", 32 + 2 * 4),  # a float32 scale each for key and value
        ("nvfp4", 2 * (8 + 1)),  # half a byte, and a scale byte for 16 values
    ],
)
def test_cache_types(cache_type, bytes_per_head):
    assert cache(DENSE, cache_type=cache_type).token == 4 * 4 * bytes_per_head


def test_a_calibrated_checkpoint_decides_what_auto_means():
    config = {**DENSE, "quantization_config": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}

    assert read(config).quantization.cache_bits == 8
    assert cache(config, cache_bits=8).token == 512
    assert cache(config, cache_type="bfloat16", cache_bits=8).token == 1024


def test_an_unknown_cache_type_is_refused():
    with pytest.raises(ConfigFault, match="turboquant_4bit_nc"):
        slot_of(KeyValue(4, 16, 16), 1, rules("turboquant_4bit_nc"))


@pytest.mark.parametrize("tensor", [1, 2, 8])
def test_latent_attention_keeps_one_vector_on_every_rank(tensor):
    assert cache(MLA, tensor).token == 4 * (512 + 64) * 2
    assert cache(MLA, tensor, "fp8").token == 4 * (512 + 64)


def test_sparse_latent_attention_has_an_8_bit_layout_and_an_indexer():
    sparse = {**MLA, "index_topk": 2048, "index_head_dim": 128}

    # 512 values, four float32 scales, 64 rotary values of 16 bits; 128 index values and a scale
    assert cache(sparse, cache_type="fp8").token == 4 * (512 + 16 + 128 + 128 + 4)
    assert cache(MLA, cache_type="fp8_ds_mla").token == 4 * 656
    assert cache(sparse).token == 4 * (576 * 2 + 132)


def test_layers_with_a_window_stop_growing():
    mixed = cache(GEMMA)  # full at 6 and 12; groups of two layers: one full, five with a window

    assert [layer.window for layer in read(GEMMA).layers] == [32, 32, 32, 32, 32, None] * 2
    assert mixed.token == 2 * 256
    # per window group: window 32 - 1 and a batch of 64 are 95 tokens, 6 blocks, one more as blocks are not aligned
    assert mixed.fixed == 5 * 7 * 2 * 16 * 256
    assert mixed.sequence(1600) == (100 + 5 * 7) * 2 * 16 * 256


def test_a_window_in_every_layer_bounds_the_whole_cache():
    config = {**DENSE, "sliding_window": 32}

    assert cache(config).token == 0
    assert cache(config).sequence(10**6) == 7 * 4 * 16 * 256
    assert cache({**config, "use_sliding_window": False}).token == 1024


def test_window_layers_can_have_other_heads():
    config = {
        **DENSE,
        "hybrid_layer_pattern": [0, 1, 1, 1],
        "v_head_dim": 8,
        "swa_num_key_value_heads": 8,
        "swa_v_head_dim": 8,
        "sliding_window_size": 32,
    }
    full, window, *_ = read(config).layers

    assert full == KeyValue(4, 16, 8)
    assert window == KeyValue(8, 16, 8, 32)
    # A full layer's block is twice as long, so that all pages are 16 × 8 × 24 × 2 bytes.
    assert cache(config).page == 16 * 8 * 24 * 2
    assert cache(config).token == 4 * 24 * 2


def test_gemma_4_has_other_heads_where_it_sees_everything_and_shares_caches():
    config = {
        **DENSE,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "sliding_window": 32,
        "num_global_key_value_heads": 1,
        "global_head_dim": 32,
        "num_kv_shared_layers": 2,
    }

    assert read(config).layers == (KeyValue(4, 16, 16, 32), KeyValue(1, 32, 32), None, None)


@pytest.mark.parametrize(("cache_type", "lookahead", "block"), [("auto", 0, 1056), ("fp8", 0, 2096), ("fp8", 3, 2144)])
def test_recurrent_layers_make_blocks_as_long_as_a_state(cache_type, lookahead, block):
    """1056 and 2144 are the block sizes that vLLM logs for this model."""
    hybrid = cache(QWEN, cache_type=cache_type, lookahead=lookahead)
    token = 2 * 2 * 256 * (2 if cache_type == "auto" else 1)
    # (16 + 16) × 128 and 32 × 128 channels × (3 + lookahead) × 2 bytes; 32 heads × 128 × 128 × 4 bytes
    state = 8192 * (3 + lookahead) * 2 + 32 * 128 * 128 * 4

    assert hybrid.page == block * token >= state
    assert hybrid.token == 10 * token
    # three groups of ten recurrent layers, each with a state for every speculative token and one more
    assert hybrid.fixed == 3 * 10 * (1 + lookahead) * hybrid.page
    assert hybrid.sequence(block + 1) == hybrid.fixed + 2 * 10 * hybrid.page


def test_prefix_caching_keeps_one_more_state():
    assert cache(QWEN, prefix_caching=True).fixed == 2 * cache(QWEN).fixed


@pytest.mark.parametrize(("tensor", "block"), [(1, 4192), (2, 4192), (4, 2112)])
def test_mamba_blocks_as_in_a_vllm_issue(tensor, block):
    """https://github.com/vllm-project/vllm/issues/41037 has these numbers for fp8 and --block-size 32."""
    hybrid = cache(NEMOTRON, tensor, "fp8", block=32)
    token = 2 * 128 * max(1, 2 // tensor)

    assert hybrid.page == block * token
    assert [type(layer) for layer in read(NEMOTRON).layers] == [State, type(None), State, KeyValue, type(None)]


def test_groups_of_a_mamba_state_are_copied_where_there_are_too_few():
    few = {**NEMOTRON, "n_groups": 2}
    two, four = (slot_of(read(few).layers[0], tensor, rules()).state for tensor in (2, 4))

    recurrent = 64 * 64 * 128 * 4
    assert two == recurrent // 2 + (4096 // 2 + 2 * 128) * 3 * 2
    assert four == recurrent // 4 + (4096 // 4 + 2 * 128) * 3 * 2


def test_kimi_delta_attention_beside_latent_attention():
    config = {
        **MLA,
        "linear_attn_config": {
            "kda_layers": [1, 2, 3],
            "full_attn_layers": [4],
            "num_heads": 8,
            "head_dim": 128,
            "short_conv_kernel_size": 4,
        },
    }

    assert read(config).layers == (State(8, 128 * 128, 3 * 1024, 4, 0, 0, 4),) * 3 + (Latent(512, 64),)


def test_what_no_formula_covers_is_said():
    assert "compress_ratios: a cache of compressed tokens" in refusal({**DENSE, "compress_ratios": [4]})
    assert "attention and a recurrent state in one layer" in refusal({**DENSE, "mamba_d_ssm": 64})
    assert "lightning attention" in refusal({**DENSE, "attn_type_list": [0, 1, 1, 1]})
    assert read({**DENSE, "attn_type_list": [1, 1, 1, 1]}).layers == read(DENSE).layers
    assert "'hyena'" in refusal({**DENSE, "layer_types": ["hyena"] * 4})
    assert "has no num_hidden_layers" in refusal({"hidden_size": 8})
    assert "has no vocab_size" in refusal({key: value for key, value in DENSE.items() if key != "vocab_size"})
    assert "'Z'" in refusal({**NEMOTRON, "hybrid_override_pattern": "MZ"})


@given(
    st.sampled_from([DENSE, MLA, GEMMA, QWEN, NEMOTRON]),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 5000),
    st.integers(1, 5000),
)
def test_longer_sequences_and_fewer_ranks_never_take_less(config, tensor, length, more):
    some = cache(config, tensor)

    assert some.sequence(length) <= some.sequence(length + more)
    assert cache(config, 2 * tensor).sequence(length) <= some.sequence(length)


def test_kinds_of_nearly_equal_number_share_groups_of_the_larger():
    """12 layers with a window and 13 that see everything are padded to 13 and 13, not to 12, 12 and 12."""
    config = {
        **DENSE,
        "num_hidden_layers": 25,
        "layer_types": ["full_attention", "sliding_attention"] * 12 + ["full_attention"],
        "sliding_window": 32,
    }

    assert cache(config).group == 13
    assert cache(config).sequence(16) == (1 + 2) * 13 * 16 * 256


def test_an_interval_counts_from_one():
    assert [type(layer) for layer in read(QWEN).layers[:5]] == [State, State, State, KeyValue, State]
