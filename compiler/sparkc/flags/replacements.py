"""Hints for flags that are gone or that a modification brings, where the engine's own source names what to write."""

from __future__ import annotations

from collections.abc import Mapping

_STRUCTURED = "write --structured-outputs-config"
_EPLB = "write --eplb-config"

REPLACEMENTS: Mapping[tuple[str, str], str] = {
    ("vllm", "--task"): "write --runner, and --convert for pooling models",
    ("vllm", "--rope-scaling"): "write --hf-overrides",
    ("vllm", "--rope-theta"): "write --hf-overrides",
    ("vllm", "--cuda-graph-sizes"): "write --cudagraph-capture-sizes",
    ("vllm", "--guided-decoding-backend"): _STRUCTURED,
    ("vllm", "--guided-decoding-disable-fallback"): _STRUCTURED,
    ("vllm", "--guided-decoding-disable-any-whitespace"): _STRUCTURED,
    ("vllm", "--guided-decoding-disable-additional-properties"): _STRUCTURED,
    ("vllm", "--override-pooler-config"): "write --pooler-config",
    ("vllm", "--num-redundant-experts"): _EPLB,
    ("vllm", "--eplb-window-size"): _EPLB,
    ("vllm", "--eplb-step-interval"): _EPLB,
    ("vllm", "--eplb-log-balancedness"): _EPLB,
    ("vllm", "--enable-multimodal-encoder-data-parallel"): "write --mm-encoder-tp-mode data",
    ("vllm", "--disable-log-requests"): "remove it: requests are not logged unless --enable-log-requests is given",
    ("vllm", "--gpu-memory-utilization-gb"): (
        "write the fraction of memory with --gpu-memory-utilization, or add the mod gpu-mem-util-gb"
    ),
    ("sglang", "--cuda-graph-bs"): "write --cuda-graph-bs-decode",
    ("sglang", "--cuda-graph-max-bs"): "write --cuda-graph-max-bs-decode",
    ("sglang", "--piecewise-cuda-graph-tokens"): "write --cuda-graph-bs-prefill",
    ("sglang", "--piecewise-cuda-graph-max-tokens"): "write --cuda-graph-max-bs-prefill",
    ("sglang", "--piecewise-cuda-graph-compiler"): "write --cuda-graph-tc-compiler",
    ("sglang", "--disable-piecewise-cuda-graph"): "write --cuda-graph-backend-prefill disabled",
    ("sglang", "--enforce-piecewise-cuda-graph"): "write --cuda-graph-backend-prefill tc_piecewise",
    ("sglang", "--nsa-prefill-backend"): "write --dsa-prefill-backend",
    ("sglang", "--nsa-decode-backend"): "write --dsa-decode-backend",
    ("sglang", "--stream-output"): "write --incremental-streaming-output",
    ("sglang", "--mamba-scheduler-strategy"): "write --mamba-radix-cache-strategy",
    ("sglang", "--hybrid-kvcache-ratio"): "write --swa-full-tokens-ratio",
}
