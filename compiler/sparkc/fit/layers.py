"""From config.json to what each layer keeps in memory, family by family.

The names are those of the checkpoints' own configurations: ``layer_types`` and ``full_attention_interval`` (Qwen3-Next
and later, Gemma, gpt-oss), ``sliding_window_pattern`` (Gemma 2 and 3), ``hybrid_layer_pattern`` (MiMo),
``hybrid_override_pattern`` (Nemotron-H), ``linear_attn_config`` (Kimi Linear), ``kv_lora_rank`` (DeepSeek and kin).
"""

from __future__ import annotations

from sparkc.fit.config import Config, ConfigFault
from sparkc.fit.model import KeyValue, Latent, Layer, State

_RECURRENT = {"linear_attention", "mamba", "mamba2", "recurrent", "kda"}
_UNCOVERED = {
    "compress_ratios": "a cache of compressed tokens",
    "index_kpool": "a pooled index",
    "mamba_d_ssm": "attention and a recurrent state in one layer",
    "attn_layer_period": "Mamba 1 layers between those with attention",
    "layer_group_size": "groups of linear attention",
    "is_encoder_decoder": "a cache for the encoder",
}
_NO_CACHE = {"mlp", "moe", "dense"}
_NEMOTRON = {"M": "mamba", "*": "full_attention", "-": "mlp", "E": "moe"}


def layers_of(config: Config) -> tuple[Layer, ...]:
    """Return what every layer keeps, in order.

    Raises:
        ConfigFault: the configuration lacks a size, or is of a kind that the formulas here do not cover.
    """
    strange = next((key for key in _UNCOVERED if config.raw(key)), None)
    if strange is not None:
        raise ConfigFault(f"has {strange}: {_UNCOVERED[strange]}, which no formula here covers")
    kinds = _kinds(config)
    found = [_layer(kind, config) for kind in kinds]
    shared = config.number("num_kv_shared_layers", default=0)  # the last ones use an earlier layer's cache
    return tuple(None if index >= len(found) - shared else layer for index, layer in enumerate(found))


def layer_count(config: Config) -> int:
    """Return the number of layers.

    Raises:
        ConfigFault: it is missing or absurd.
    """
    count = config.number("num_hidden_layers", "n_layer", "num_layers")
    if not 0 < count <= 10_000:
        raise ConfigFault(f"has {count} layers")
    return count


def draft_layer(layers: tuple[Layer, ...]) -> Layer:
    """Return what a multi-token prediction layer keeps: it is built like the model's last full-attention layer."""
    full = [
        layer for layer in layers if isinstance(layer, Latent) or (isinstance(layer, KeyValue) and not layer.window)
    ]
    cached = full or [layer for layer in layers if isinstance(layer, KeyValue)]
    return cached[-1] if cached else None


def _kinds(config: Config) -> list[str]:
    pattern = config.raw("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        unknown = set(pattern) - set(_NEMOTRON)
        if unknown:
            raise ConfigFault(f"has {min(unknown)!r} in hybrid_override_pattern, which is no known kind of layer")
        return [_NEMOTRON[letter] for letter in pattern]
    count = layer_count(config)
    if 0 in (config.items("attn_type_list") or ()):
        raise ConfigFault("has 0 in attn_type_list: lightning attention, which no formula here covers")
    types = config.items("layer_types") or config.items("layers_block_type")
    if types:
        return [str(kind) for kind in types[:count]]
    flags = config.items("hybrid_layer_pattern")
    if flags:
        return ["sliding_attention" if flag == 1 else "full_attention" for flag in flags[:count]]
    linear = config.section("linear_attn_config")
    if linear is not None:
        recurrent = linear.items("kda_layers") or []
        return ["kda" if number in recurrent else "full_attention" for number in range(1, count + 1)]
    return [_by_rule(index, config) for index in range(count)]


def _by_rule(index: int, config: Config) -> str:
    """Return a layer's kind where the configuration states a rule instead of a list."""
    interval = config.first("full_attention_interval")
    if interval:
        return "full_attention" if (index + 1) % interval == 0 else "linear_attention"
    if not config.first("sliding_window", "sliding_window_size") or config.raw("use_sliding_window") is False:
        return "full_attention"
    default = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6}.get(str(config.raw("model_type")), 0)
    pattern = config.number("sliding_window_pattern", "_sliding_window_pattern", default=default)
    return "full_attention" if pattern and (index + 1) % pattern == 0 else "sliding_attention"


def _layer(kind: str, config: Config) -> Layer:
    if kind in _NO_CACHE:
        return None
    if kind in _RECURRENT:
        return _state(config)
    if "attention" not in kind:
        raise ConfigFault(f"has layers of the kind {kind!r}, which no formula here covers")
    rank = config.first("kv_lora_rank")
    if rank:
        index = config.number("index_head_dim", default=0) if config.has("index_topk") else 0
        return Latent(rank, config.number("qk_rope_head_dim", default=0), index)
    return _attention(config, bounded=kind.startswith(("sliding", "chunked", "local")))


def _attention(config: Config, *, bounded: bool) -> KeyValue:
    queries = config.number("num_attention_heads", "n_head")
    size = config.first("head_dim") or config.number("hidden_size", "n_embd") // max(queries, 1)
    heads = config.number("num_key_value_heads", "num_kv_heads", "num_attention_groups", default=queries)
    if bounded:
        window = config.number("sliding_window", "sliding_window_size", "attention_chunk_size")
        heads = config.number("swa_num_key_value_heads", default=heads)
        key = config.number("swa_head_dim", default=size)
        return KeyValue(heads, key, config.number("swa_v_head_dim", "v_head_dim", default=key), window)
    # Gemma 4 has its own sizes for the layers that see everything.
    heads = config.first("num_global_key_value_heads") or heads
    size = config.first("global_head_dim") or size
    return KeyValue(heads, size, config.number("v_head_dim", default=size))


def _state(config: Config) -> State:
    element = {"float32": 4, "float16": 2, "bfloat16": 2}.get(
        str(config.raw("mamba_ssm_dtype") or config.raw("mamba_ssm_cache_dtype"))
    )
    linear = config.section("linear_attn_config")
    if linear is not None:  # Kimi delta attention: queries, keys and values pass the convolution
        heads, size = linear.number("num_heads"), linear.number("head_dim")
        return State(heads, size * size, 3 * heads * size, linear.number("short_conv_kernel_size", default=4), 0, 0, 4)
    if config.has("linear_num_value_heads"):  # gated delta net
        heads, value = config.number("linear_num_value_heads"), config.number("linear_value_head_dim")
        keys, key = config.number("linear_num_key_heads"), config.number("linear_key_head_dim")
        kernel = config.number("linear_conv_kernel_dim", default=4)
        return State(heads, value * key, 2 * keys * key + heads * value, kernel, 0, 0, element)
    heads = config.number("mamba_num_heads", "mamba_n_heads")  # Mamba 2
    size = config.number("mamba_head_dim", "mamba_d_head")
    width = config.number("ssm_state_size", "mamba_d_state")
    groups = config.number("n_groups", "mamba_n_groups", default=1)
    kernel = config.number("conv_kernel", "mamba_d_conv", default=4)
    return State(heads, size * width, heads * size, kernel, groups, 2 * width, element)
