"""Bits per weight, scales included, from config.json's ``quantization_config``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkc.fit.model import Quantization

_FP8_BLOCK = 8 + 32 / (128 * 128)  # one float32 scale for a block of 128 × 128 weights
_MXFP4 = 4 + 8 / 32  # one 8-bit scale for 32 weights
_NVFP4 = 4 + 8 / 16  # one 8-bit scale for 16 weights
_GROUPED = {"awq", "gptq", "auto-round", "autoround", "intel/auto-round", "awq_marlin", "gptq_marlin"}


def quantization(config: Mapping[str, Any], element_size: int) -> Quantization:
    """Return how most weights are stored; ``element_size`` is that of weights which are not quantized."""
    section = config.get("quantization_config") or config.get("compression_config")
    if not isinstance(section, Mapping):
        return Quantization(f"{element_size * 8}-bit", element_size * 8.0)
    name, bits = _bits(section)
    if bits is None or not 0 < bits <= 64:
        bits = element_size * 8.0
    return Quantization(name, bits, _cache_bits(section))


def _bits(section: Mapping[str, Any]) -> tuple[str, float | None]:
    method = str(section.get("quant_method", "")).lower()
    algorithm = str(section.get("quant_algo", "")).lower()
    if method in _GROUPED:
        bits = _number(section, "bits", _number(section, "w_bit", 4))
        group = _number(section, "group_size", 128)
        asymmetric = section.get("zero_point", not section.get("sym", True))
        return f"{method} int{bits} g{group}", _grouped(bits, group, bool(asymmetric))
    if method == "compressed-tensors":
        return _compressed(section)
    for key, bits_ in (("nvfp4", _NVFP4), ("mxfp4", _MXFP4), ("fp8", _FP8_BLOCK), ("int8", 8.0)):
        if key in (method, algorithm) or algorithm.startswith(key):
            return key, bits_
    if method == "bitsandbytes":
        four = bool(section.get("load_in_4bit"))
        return f"bitsandbytes {'4' if four else '8'}-bit", 4.5 if four else 8.0  # one float32 scale for 64 weights
    return method or algorithm or "unknown quantization", None


def _compressed(section: Mapping[str, Any]) -> tuple[str, float | None]:
    """The scheme of the first group: a checkpoint with several has most of its weights in the experts' one."""
    groups = section.get("config_groups")
    group = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = group.get("weights") if isinstance(group, Mapping) else None
    if not isinstance(weights, Mapping):
        return "compressed-tensors", None
    bits = _number(weights, "num_bits", 8)
    size = _number(weights, "group_size", 0)
    if weights.get("type") == "float" and bits == 4:
        return ("nvfp4", _NVFP4) if size == 16 else ("mxfp4", _MXFP4)
    name = f"{'fp' if weights.get('type') == 'float' else 'int'}{bits}"
    return name, _grouped(bits, size, not weights.get("symmetric", True)) if size else float(bits)


def _grouped(bits: int, group: int, asymmetric: bool) -> float:
    """A 16-bit scale for each group, and a zero point of ``bits`` where the range is not symmetric."""
    return bits + ((16 + (bits if asymmetric else 0)) / group if group > 0 else 0)


def _cache_bits(section: Mapping[str, Any]) -> int | None:
    """A calibrated checkpoint brings its cache type; vLLM follows it where the flag says ``auto``."""
    scheme = section.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        bits = _number(scheme, "num_bits", 8)
        return bits if bits in (4, 8, 16) else None
    return 8 if str(section.get("kv_cache_quant_algo", "")).upper() == "FP8" else None


def _number(section: Mapping[str, Any], key: str, default: int) -> int:
    value = section.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
