"""What an engine's command says about memory: limits, lengths, cache type, graphs, drafts."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.diagnostics import Report
from sparkc.engines.arguments import Words
from sparkc.fit.flags import Flags
from sparkc.fit.model import GIB
from sparkc.record import dataclass
from sparkc.traced import Traced

_BUILT_IN_DRAFTS = ("mtp", "dspark", "nextn")
_WITHOUT_MODEL = ("ngram", "suffix")


@dataclass(frozen=True)
class Speculation:
    """Speculative decoding. ``model`` None: the draft layers are inside the model's own checkpoint, if it has any.

    ``mapped``: the draft is read by safetensors, so what it does not take of its files stays memory-mapped.
    """

    method: str
    tokens: int
    model: Traced[str] | None
    tensor: int | None
    mapped: bool


@dataclass(frozen=True)
class Serving:
    """The memory side of a command.

    One of ``fraction`` (of the node's memory), ``reserve`` and ``cache`` (bytes) rules; ``limit`` is how it was
    written. ``length`` None: the model's own maximum; ``auto``: the longest that fits. ``state_size``: bytes of a
    recurrent state's element, None for the model's own. ``outside_graphs``: CUDA graphs come on top of the budget.
    ``load_format`` as the command has it.
    """

    engine: str
    limit: str
    fraction: float | None
    reserve: int | None
    cache: int | None
    length: int | None
    auto: bool
    sequences: int
    batched: int
    cache_type: str
    block: int
    eager: bool
    context_parallel: int
    prefix_caching: bool
    state_size: int | None
    whole_encoder: bool
    text_only: bool
    outside_graphs: bool
    processor_cache: float
    load_format: Traced[str] | None
    speculation: Speculation | None


def read_vllm(words: Words, env: Mapping[str, str], version: str | None, report: Report) -> Serving:
    """Read a vLLM command; ``version`` is the recipe's ``engine_version``, which decides defaults.

    Defaults (vllm/config/cache.py, vllm/engine/arg_utils.py): utilization 0.92 since 0.20, 0.9 before; on a Spark 2048
    batched tokens and 256 sequences since 0.33, 8192 and 1024 before.
    """
    flags = Flags(words, report)
    new = _at_least(version, 33)
    cache = flags.count("--kv-cache-memory-bytes")
    reserve = flags.decimal("--gpu-memory-utilization-gb")
    fraction = flags.decimal("--gpu-memory-utilization", "--device-memory-utilization", largest=1.0)
    default = 0.92 if _at_least(version, 20) else 0.9
    if cache is not None:
        limit, reserve, fraction = f"--kv-cache-memory-bytes {cache}", None, None
    elif reserve is not None:
        limit, fraction = f"--gpu-memory-utilization-gb {reserve:g}", None
    else:
        limit = f"--gpu-memory-utilization {default if fraction is None else fraction:g}"
        limit, fraction = (f"{limit} (vLLM's default)", default) if fraction is None else (limit, fraction)
    length = flags.text("--max-model-len")
    auto = length is not None and length.value in ("auto", "-1")
    hybrid_default = not flags.there("--no-enable-prefix-caching")
    media = flags.json("--limit-mm-per-prompt")
    return Serving(
        engine="vLLM",
        limit=limit,
        fraction=fraction,
        reserve=None if reserve is None else int(reserve * GIB),
        cache=cache,
        length=None if auto else flags.count("--max-model-len"),
        auto=auto,
        sequences=flags.count("--max-num-seqs") or (256 if new else 1024),
        batched=flags.count("--max-num-batched-tokens") or (2048 if new else 8192),
        cache_type=flags.choice("auto", "--kv-cache-dtype"),
        block=flags.count("--block-size") or 16,
        eager=flags.there("--enforce-eager") or flags.graph_mode() == "none",
        context_parallel=flags.count("--decode-context-parallel-size", "-dcp") or 1,
        prefix_caching=hybrid_default,
        state_size={"float32": 4, "float16": 2, "bfloat16": 2}.get(flags.choice("auto", "--mamba-ssm-cache-dtype")),
        whole_encoder=flags.choice("weights", "--mm-encoder-tp-mode") == "data",
        text_only=flags.there("--language-model-only") or (bool(media) and not any(media.values())),
        outside_graphs=env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS") == "0",
        processor_cache=flags.decimal("--mm-processor-cache-gb", default=4.0) or 0.0,
        load_format=flags.text("--load-format"),
        speculation=_vllm_speculation(flags),
    )


def read_sglang(words: Words, report: Report) -> Serving:
    """Read an SGLang command. ``--mem-fraction-static`` bounds weights and cache; all else comes on top of it."""
    flags = Flags(words, report)
    fraction = flags.decimal("--mem-fraction-static", largest=1.0)
    limit = f"--mem-fraction-static {fraction:g}" if fraction is not None else "--mem-fraction-static 0.85 (assumed)"
    algorithm = flags.choice("", "--speculative-algorithm")
    draft = flags.text("--speculative-draft-model-path", "--speculative-draft-model")
    tokens = flags.count("--speculative-num-draft-tokens") or 4
    return Serving(
        engine="SGLang",
        limit=limit,
        fraction=0.85 if fraction is None else fraction,
        reserve=None,
        cache=None,
        length=flags.count("--context-length"),
        auto=False,
        sequences=flags.count("--max-running-requests") or 256,
        batched=flags.count("--chunked-prefill-size") or 8192,
        cache_type=flags.choice("auto", "--kv-cache-dtype"),
        block=flags.count("--page-size") or 1,
        eager=flags.there("--disable-cuda-graph"),
        context_parallel=1,
        prefix_caching=not flags.there("--disable-radix-cache"),
        state_size=None,
        whole_encoder=False,
        text_only=False,
        outside_graphs=True,
        processor_cache=0.0,
        load_format=flags.text("--load-format"),
        speculation=Speculation(algorithm, tokens, draft, None, mapped=True)
        if algorithm and algorithm not in _WITHOUT_MODEL
        else None,
    )


def _vllm_speculation(flags: Flags) -> Speculation | None:
    config = flags.json("--speculative-config", "-sc")
    if not config:
        return None
    method = str(config.get("method") or "draft_model").lower()
    if method in _WITHOUT_MODEL:
        return None
    word = flags.text("--speculative-config", "-sc")
    model = config.get("model")
    own = isinstance(model, str) and model and not any(name in method for name in _BUILT_IN_DRAFTS)
    tokens, tensor = config.get("num_speculative_tokens"), config.get("draft_tensor_parallel_size")
    loader = config.get("draft_load_config")
    stated = loader.get("load_format") if isinstance(loader, dict) else None
    load_format = stated or flags.choice("auto", "--load-format")
    return Speculation(
        method=method,
        tokens=tokens if isinstance(tokens, int) and 0 < tokens < 1000 else 1,
        model=word.with_value(str(model)) if own and word is not None else None,
        tensor=tensor if isinstance(tensor, int) and 0 < tensor < 1000 else None,
        mapped=load_format in ("auto", "safetensors", "hf"),
    )


def _at_least(version: str | None, minor: int) -> bool:
    """Return whether a vLLM version is 0.<minor> or newer; without a version the newest one's rules count."""
    parts = (version or "").lstrip("v").split(".")
    return (
        len(parts) < 2
        or not all(part.isdecimal() for part in parts[:2])
        or (int(parts[0]), int(parts[1]))
        >= (
            0,
            minor,
        )
    )
