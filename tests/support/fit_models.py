"""Small made-up models, and the sum of one of them without a recipe or a disk."""

from __future__ import annotations

from typing import Any

from sparkc.diagnostics import Report
from sparkc.engines.base import World
from sparkc.fit.architecture import architecture
from sparkc.fit.budget import NodeMemory, Task, fit
from sparkc.fit.cache import CacheRules, Pool, pool, slot_of
from sparkc.fit.model import Architecture, Checkpoint, Fit, Model, Tensor
from sparkc.fit.serving import Serving, read_sglang, read_vllm
from sparkc.traced import Traced, from_rule

RULE = from_rule("test", "written in the test")

# 4 layers, 8 query and 4 key-value heads of 16: 2 × 4 × 16 × 2 bytes = 256 bytes per token and layer at 16 bits.
DENSE: dict[str, Any] = {
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "hidden_size": 128,
    "intermediate_size": 512,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "dtype": "bfloat16",
}
MLA = {
    **DENSE,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "q_lora_rank": 64,
    "n_routed_experts": 16,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "first_k_dense_replace": 1,
}
# The sizes of Qwen3.6-35B-A3B: 40 layers, every fourth with full attention, 2 key-value heads of 256.
QWEN = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "num_hidden_layers": 40,
        "full_attention_interval": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 2048,
        "vocab_size": 248320,
        "linear_num_key_heads": 16,
        "linear_key_head_dim": 128,
        "linear_num_value_heads": 32,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "mamba_ssm_dtype": "float32",
        "num_experts": 256,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 512,
        "mtp_num_hidden_layers": 1,
        "max_position_embeddings": 262144,
        "dtype": "bfloat16",
    },
}


def read(config: dict[str, Any]) -> Architecture:
    """Return the architecture of a config that must be readable."""
    report = Report()
    found = architecture(config, "config.json", None, report)
    assert found is not None, report.diagnostics
    return found


def refusal(config: dict[str, Any]) -> str:
    """Return what is said about a config that no formula covers."""
    report = Report()
    assert architecture(config, "config.json", None, report) is None
    [found] = report.diagnostics
    assert found.code == "SPK722"
    return found.message


def rules(cache_type: str = "auto", **changes: Any) -> CacheRules:
    """Return cache rules of a 16-bit model with blocks of 16 tokens."""
    values = {
        "cache_type": cache_type,
        "element": 2,
        "cache_bits": None,
        "block": 16,
        "batched": 64,
        "lookahead": 0,
        "prefix_caching": False,
        "state_size": None,
    }
    return CacheRules(**(values | changes))


def cache(config: dict[str, Any], tensor: int = 1, cache_type: str = "auto", **changes: Any) -> Pool:
    """Return the pool of all layers on one of ``tensor`` ranks."""
    use = rules(cache_type, **changes)
    slots = [slot_of(layer, tensor, use) for layer in read(config).layers]
    return pool([slot for slot in slots if slot is not None], use)


def serving(
    *words: str, engine: str = "vllm", env: dict[str, str] | None = None, version: str | None = None
) -> Serving:
    """Return what a command says."""
    report = Report()
    traced = tuple(Traced(word, RULE) for word in words)
    found = read_sglang(traced, report) if engine == "sglang" else read_vllm(traced, env or {}, version, report)
    assert report.diagnostics == ()
    return found


def world(tensor: int = 1, pipeline: int = 1, data: int = 1) -> World:
    """Return parallel sizes."""
    return World(Traced(tensor, RULE), Traced(pipeline, RULE), Traced(data, RULE))


def model(config: dict[str, Any], total: int = 0, tensors: tuple[Tensor, ...] = ()) -> Model:
    """Return a model of ``total`` bytes, or of the tensors given."""
    if tensors:
        return Model("org/m", read(config), Checkpoint(sum(t.size for t in tensors), "measured", "headers", tensors))
    return Model("org/m", read(config), Checkpoint(total, "measured", "weights_bytes"))


def summed(
    of: Model, *words: str, sizes: World | None = None, memory: tuple[float | None, ...] = (), **options: Any
) -> Fit:
    """Return the sum on as many nodes as the sizes ask for; ``memory`` in GiB, 119.7 each by default."""
    use = sizes or world()
    nodes = tuple(NodeMemory(f"s{n}", memory[n] if memory else None) for n in range(use.size))
    report = Report()
    draft = options.pop("draft", None)
    found = fit(Task(of, draft, serving(*words, **options), use, nodes), None, report)
    assert found is not None, report.diagnostics
    return found
