"""Whatever config.json holds, the sum is made or refused; nothing escapes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.fit.architecture import architecture
from sparkc.fit.budget import NodeMemory, Task, fit
from sparkc.fit.model import Checkpoint, Model
from sparkc.fit.table import table
from support.fit_models import DENSE, serving, world

KEYS = (
    *DENSE, "kv_lora_rank", "qk_rope_head_dim", "q_lora_rank", "index_topk", "index_head_dim", "layer_types",
    "hybrid_layer_pattern", "hybrid_override_pattern", "full_attention_interval", "sliding_window", "model_type",
    "sliding_window_pattern", "linear_attn_config", "linear_num_value_heads", "linear_value_head_dim",
    "linear_num_key_heads", "linear_key_head_dim", "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups",
    "quantization_config", "text_config", "n_routed_experts", "moe_intermediate_size", "moe_layer_freq",
    "first_k_dense_replace", "num_nextn_predict_layers", "num_kv_shared_layers", "num_global_key_value_heads",
    "kda_layers", "num_heads", "config_groups", "quant_method", "bits", "group_size", "kv_cache_scheme", "num_bits",
)  # fmt: skip
LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 100) | st.integers() | st.floats()
    | st.sampled_from(["full_attention", "sliding_attention", "linear_attention", "mamba", "M*E-", "gemma2", "fp8"])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12),
    st.integers(1, 10**15),
    st.sampled_from([(1, 1, 1), (2, 1, 1), (1, 3, 1), (2, 2, 2), (64, 1, 1)]),
    st.sampled_from(["auto", "fp8", "nvfp4", "fp8_ds_mla", "other"]),
    st.sampled_from([(), ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}')]),
    st.sampled_from([None, 0.001, 128.0, 1e308]),
)
def test_nothing_escapes(changes, total, sizes, cache_type, words, memory):
    report = Report()
    known = architecture({**DENSE, **changes}, "config.json", None, report)
    if known is None:
        assert report.failed
        return
    use = serving("--kv-cache-dtype", cache_type, *words)
    nodes = (NodeMemory("s", memory),) * (sizes[0] * sizes[1] * sizes[2])
    found = fit(
        Task(Model("m", known, Checkpoint(total, "measured", "x")), None, use, world(*sizes), nodes), None, report
    )

    assert (found is None) == report.failed
    if found is not None:
        assert table(found)
        assert found.fits == (not found.problems)
        assert 0 <= found.tightest.length <= found.max_length or use.auto
