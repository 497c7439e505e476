"""The formulas against what owners of DGX Sparks published about runs of theirs.

The reports are comments of public recipes: hy3-295b-nvfp4 and qwen3.6-35b-a3b-nvfp4-fast of leo-dcfa/sparkrun-recipes,
kimi-k2.7-code of urbanspr1nter/spark-vllm-docker-recipes, glm-5-fp8 and mimo-v2.6-flash-pp3 of eugr/spark-vllm-docker,
qwen-38-27b-nvfp4-sglang of styles01/sparkrun-recipes. Their nodes show 121.6 GiB. The tolerances say what an
estimate is good for.
"""

from __future__ import annotations

import pytest

from support.fit_models import QWEN, cache, model, summed, world

GB, GIB = 10**9, 1 << 30
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}

HY3 = {
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 4096,
    "intermediate_size": 13312,
    "vocab_size": 120832,
    "num_experts": 192,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 1536,
    "first_k_dense_replace": 1,
    "num_nextn_predict_layers": 1,
    "max_position_embeddings": 262144,
    "quantization_config": NVFP4,
}
MIMO = {
    "num_hidden_layers": 48,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 192,
    "v_head_dim": 128,
    "swa_num_key_value_heads": 8,
    "swa_head_dim": 192,
    "swa_v_head_dim": 128,
    "sliding_window_size": 128,
    "hybrid_layer_pattern": [0, 1, 1, 1, 1, *[0, 1, 1, 1, 1, 1] * 7, 0],
    "hidden_size": 4096,
    "intermediate_size": 16384,
    "vocab_size": 152576,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "max_position_embeddings": 1 << 20,
    "quantization_config": {"quant_method": "mxfp4"},
}
LATENT = {
    "num_attention_heads": 64,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
}
GLM5 = {
    **LATENT,
    "num_hidden_layers": 78,
    "q_lora_rank": 2048,
    "index_topk": 2048,
    "index_head_dim": 128,
    "n_routed_experts": 256,
    "first_k_dense_replace": 3,
    "hidden_size": 6144,
    "intermediate_size": 12288,
    "vocab_size": 154880,
    "max_position_embeddings": 202752,
    "quantization_config": {"quant_method": "fp8"},
}
KIMI = {
    **LATENT,
    "num_hidden_layers": 61,
    "q_lora_rank": 1536,
    "n_routed_experts": 384,
    "first_k_dense_replace": 1,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "vocab_size": 163840,
    "max_position_embeddings": 262144,
    "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}},
    },
}


def line(found, name):
    return next(line.size for line in found.tightest.lines if line.name.startswith(name))


def test_hy3_on_two_nodes():
    """181 GB on disk; 84.5 GiB loaded with the draft, 9.4 GiB of fp8 cache for 121,648 tokens at 0.80."""
    found = summed(
        model(HY3, 181 * GB),
        *("--max-model-len", "114688", "--max-num-seqs", "6", "--max-num-batched-tokens", "4096", "--enforce-eager"),
        *("--kv-cache-dtype", "fp8_e4m3", "--gpu-memory-utilization", "0.80"),
        *("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 1}'),
        sizes=world(2),
        memory=(121.6, 121.6),
    )

    assert (line(found, "weights") + line(found, "draft")) / GIB == pytest.approx(84.5, rel=0.01)
    assert found.tightest.token == pytest.approx(9.4 * GIB / 121_648, rel=0.001)
    assert found.tightest.pool / GIB == pytest.approx(9.4, rel=0.1)
    assert found.tightest.tokens == pytest.approx(121_648, rel=0.1)
    assert found.fits
    # "about 15 GiB stay free"
    assert found.tightest.left / GIB == pytest.approx(15, rel=0.1)


def test_mimo_on_three_pipeline_stages():
    """173 GB, 58 GB a stage; a million tokens take about 4.8 GiB of fp8 cache a stage; one node has 108 GiB."""
    found = summed(
        model(MIMO, 173 * GB),
        *("--max-model-len", "1048576", "--max-num-seqs", "8", "--max-num-batched-tokens", "8192"),
        *("--kv-cache-dtype", "fp8", "--gpu-memory-utilization", "0.87"),
        sizes=world(pipeline=3),
        memory=(121.6, 108, 121.6),
    )

    assert [rank.layers for rank in found.ranks] == [16, 16, 16]
    assert line(found, "weights") / GB == pytest.approx(58, rel=0.03)
    assert found.tightest.node == "s1"
    # They divide the sum of two ranks by three and count a draft: ours is lower.
    assert found.tightest.sequence / GIB == pytest.approx(4.8, rel=0.2)
    # "about 30 GiB of cache and activation headroom", with weights taken for GiB
    assert 30 < found.tightest.pool / GIB < 40
    assert found.fits


@pytest.mark.parametrize(
    ("config", "total", "per_node"), [(GLM5, 704, 88), (KIMI, 555, 69)], ids=["GLM-5-FP8", "Kimi-K2.7-Code"]
)
def test_large_models_on_eight_nodes(config, total, per_node):
    """704 GiB are about 88 a node, and 555 are about 69; what is copied makes ours a little larger."""
    found = summed(
        model(config, total * GIB),
        *("--max-num-seqs", "4", "--max-num-batched-tokens", "4096", "--gpu-memory-utilization", "0.82"),
        *("--max-model-len", "32768", "--kv-cache-dtype", "fp8"),
        sizes=world(8),
        memory=(121.69,) * 8,
    )

    assert line(found, "weights") / GIB == pytest.approx(per_node, rel=0.03)
    assert found.fits


def test_qwen_hybrids_per_token():
    """10 KiB a token for Qwen3.6-35B-A3B; 32.8 kB for Qwen3.8-27B, both with an fp8 cache."""
    larger = {
        **QWEN["text_config"],
        "num_hidden_layers": 64,
        "num_key_value_heads": 4,
        "linear_num_value_heads": 48,
    }

    assert cache(QWEN, cache_type="fp8").token == 10 * 1024
    assert cache(larger, cache_type="fp8").token == pytest.approx(32_800, rel=0.002)
