"""The command of a sparkrun recipe that has none: the runtime's program, the model, and a flag per parameter.

Which parameter becomes which flag is sparkrun's table for each runtime, in its order
(https://github.com/spark-arena/sparkrun). Parameters outside the table start nothing there either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.reading.source import Span
from sparkc.recipe.model import Argv, Param, Text, Word
from sparkc.traced import Origin, Traced, from_rule


class _Flags(NamedTuple):
    """``start`` stands before the model, ``table`` maps parameters to flags, ``switches`` are on or off.

    ``negated`` are switches that the engine turns on by itself, so that "off" needs a flag of its own. ``other`` are
    parameters that act without becoming a flag of the same meaning, ``filed`` those that sparkrun writes to a file.
    """

    start: tuple[str, ...]
    table: Mapping[str, str]
    switches: frozenset[str]
    negated: Mapping[str, str] = {}
    other: frozenset[str] = frozenset()
    filed: frozenset[str] = frozenset()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(names: str, joint: str = "-") -> dict[str, str]:
    """``name=--flag`` as it stands; a name alone is its own flag, its words joined by ``joint``."""
    pairs = (name.partition("=") for name in names.split())
    return {name: flag or f"--{name.replace('_', joint)}" for name, _, flag in pairs}


_VLLM = _Flags(
    ("vllm", "serve"),
    _table(
        "tensor_parallel=-tp port host pipeline_parallel=-pp gpu_memory_utilization max_model_len"
        " max_num_batched_tokens max_num_seqs served_model_name dtype quantization enforce_eager enable_prefix_caching"
        " trust_remote_code data_parallel=--data-parallel-size kv_cache_dtype otlp_traces_endpoint api_key"
        " attention_backend load_format reasoning_parser tool_call_parser chat_template speculative_config"
        " tokenizer_mode mm_encoder_tp_mode block_size seed enable_auto_tool_choice enable_chunked_prefill"
        " async_scheduling generation_config hf_overrides compilation_config attention_config"
        " model_loader_extra_config default_chat_template_kwargs limit_mm_per_prompt mm_processor_cache_gb"
        " kv_cache_memory_bytes max_cudagraph_capture_size long_prefill_token_threshold mamba_cache_mode"
        " mamba_cache_dtype mamba_ssm_cache_dtype reasoning_parser_plugin media_io_kwargs video_pruning_rate"
        " allowed_local_media_path prefix_match_unit enable_mamba_shared_prefix_checkpoint safetensors_load_strategy"
        " moe_backend enable_prompt_tokens_details enable_force_include_usage enable_request_id_headers"
        " enable_flashinfer_autotune linear_backend gdn_prefill_backend gdn_decode_kernel kda_prefill_backend"
        " mamba_backend recurrent_checkpoint_policy prefix_cache_retention_interval engram_config dcp_comm_backend"
        " prefill_policy prefill_compute_share prefill_compute_half_life prefill_schedule_interval"
        " max_parallel_prefills decode_refill_target scheduler_reserve_full_isl jit_monitor_mode"
        " disable_custom_all_reduce"
    ),
    _names(
        "enforce_eager enable_prefix_caching trust_remote_code enable_auto_tool_choice enable_chunked_prefill"
        " async_scheduling enable_prompt_tokens_details enable_force_include_usage enable_request_id_headers"
        " enable_flashinfer_autotune scheduler_reserve_full_isl disable_custom_all_reduce"
        " enable_mamba_shared_prefix_checkpoint"
    ),
    {
        name: f"--no-{name.replace('_', '-')}"
        for name in (
            "enable_prefix_caching",
            "enable_chunked_prefill",
            "async_scheduling",
            "enable_flashinfer_autotune",
            "scheduler_reserve_full_isl",
        )
    },
    _names("distributed_executor_backend"),
)
_SGLANG = _Flags(
    ("sglang", "serve", "--model-path"),
    _table(
        "tensor_parallel=--tp-size port host pipeline_parallel=--pp-size expert_parallel=--ep-size"
        " data_parallel=--dp-size enable_dp_attention gpu_memory_utilization=--mem-fraction-static"
        " max_model_len=--context-length max_num_seqs=--max-running-requests served_model_name dtype quantization"
        " trust_remote_code chunked_prefill=--chunked-prefill-size kv_cache_dtype tokenizer_path api_key"
        " attention_backend load_format revision model_type max_total_tokens random_seed reasoning_parser"
        " tool_call_parser mm_feature_transport speculative_algorithm speculative_draft_model_path"
        " speculative_draft_model_revision speculative_num_steps speculative_eagle_topk speculative_num_draft_tokens"
        " speculative_dspark_block_size cuda_graph_bs cuda_graph_max_bs cuda_graph_max_bs_decode torch_compile_max_bs"
        " num_continuous_decode_steps fp8_gemm_backend fp4_gemm_backend moe_runner_backend mamba_ssm_dtype"
        " mamba_full_memory_ratio enable_torch_compile disable_radix_cache disable_prefill_cuda_graph"
        " enable_decoder_swa_bounded_replay"
    ),
    _names(
        "enable_dp_attention trust_remote_code enable_torch_compile disable_radix_cache disable_prefill_cuda_graph"
        " enable_decoder_swa_bounded_replay"
    ),
)
_LLAMA_CPP = _Flags(
    ("llama-server",),
    _table(
        "port host ctx_size n_gpu_layers parallel threads chat_template reasoning_format split_mode"
        " served_model_name=--alias api_key top_p top_k temperature=--temp min_p presence_penalty cont_batching"
        " no_webui jinja flash_attn webui=--webui mmap=--mmap"
    ),
    _names("cont_batching no_webui jinja webui mmap"),
    {"webui": "--no-webui", "mmap": "--no-mmap"},
    _names("tensor_parallel pipeline_parallel"),
)
_TRTLLM = _Flags(
    ("trtllm-serve",),
    _table(
        "port host tensor_parallel=--tp_size pipeline_parallel=--pp_size expert_parallel=--ep_size max_num_tokens"
        " max_batch_size max_model_len=--max_seq_len backend tokenizer kv_cache_free_gpu_memory_fraction"
        " trust_remote_code",
        "_",
    ),
    _names("trust_remote_code"),
    filed=_names(
        "free_gpu_memory_fraction kv_cache_dtype kv_cache_enable_block_reuse cuda_graph_padding"
        " cuda_graph_max_batch_size moe_backend print_iter_log"
    ),
)
_ENGINES = {"vllm": _VLLM, "vllm-ray": _VLLM, "sglang": _SGLANG, "llama-cpp": _LLAMA_CPP, "trtllm": _TRTLLM}

# Switches that the engine has on by itself: "on" is no flag.
_ON_BY_ITSELF = frozenset({"webui", "mmap"})
_TRUE = frozenset({"true", "yes", "on", "1"})


def implied_defaults(engine: str) -> dict[str, Traced[str]]:
    """Return the values that sparkrun gives parameters which a recipe for a DGX Spark leaves out."""
    values = {
        "vllm": {"gpu_memory_utilization": "0.8"},
        "vllm-ray": {"gpu_memory_utilization": "0.8"},
        "sglang": {"gpu_memory_utilization": "0.8"},
        "llama-cpp": {"mmap": "false", "split_mode": "layer"},
        "trtllm": {"backend": "pytorch"},
    }.get(engine, {})
    rule = from_rule("sparkrun's platform defaults", "what sparkrun sets for a DGX Spark where a recipe is silent")
    return {name: Traced(value, rule) for name, value in values.items()}


def generated_command(
    engine: str,
    model: Traced[str],
    revision: Traced[str] | None,
    values: Mapping[str, Traced[str]],
    at: Span,
    report: Report,
) -> Argv:
    """Return the command that sparkrun makes of the parameters ``values``, each placeholder open to overrides.

    ``at`` is where the recipe holds its parameters. A parameter without a flag is a located warning.
    """
    flags = _ENGINES[engine]
    rule = from_rule("command from defaults", "the recipe has no command")
    words = [Word((Text(text),), rule) for text in (*flags.start, *_model_flag(engine, model.value))]
    words.append(_value("model", model, at))
    if revision is not None and engine in ("vllm", "vllm-ray", "sglang") and not model.value.startswith("/"):
        words += [Word((Text("--revision"),), rule), Word((Text(revision.value),), revision.origin)]
    for name in flags.table:
        # SGLang's --dp-size describes replicas within one launch; one replica is not said.
        single = engine == "sglang" and name == "data_parallel" and name in values and values[name].value == "1"
        if name in values and not single:
            words += _flag(flags, name, values[name], at)
    _report_unused(flags, values, report)
    return Argv(tuple(words))


def _model_flag(engine: str, model: str) -> Sequence[str]:
    """llama.cpp takes a file or a Hub repository, by different flags."""
    if engine != "llama-cpp":
        return ()
    return ("-hf",) if "/" in model and not model.startswith("/") and not model.lower().endswith(".gguf") else ("-m",)


def _flag(flags: _Flags, name: str, value: Traced[str], at: Span) -> Iterator[Word]:
    flag = flags.table[name]
    if name in flags.switches:
        on = value.value.lower() in _TRUE
        text = flag if on else flags.negated.get(name, "")
        if text and not (on and name in _ON_BY_ITSELF):
            yield _word(text, value.origin)
        return
    yield _word(flag, value.origin)
    if name == "flash_attn" and value.value.lower() in ("true", "false"):
        yield _word("on" if value.value.lower() == "true" else "off", value.origin)
        return
    yield _value(name, value, at)


def _word(text: str, origin: Origin) -> Word:
    return Word((Text(text),), origin)


def _value(name: str, value: Traced[str], at: Span) -> Word:
    """JSON is one argument; any other value is split as in a command, where ``"a b"`` becomes two."""
    whole = name == "model" or value.value.lstrip()[:1] in ("{", "[")
    return Word((Param(name, value.origin.span or at, "data" if whole else "words"),), value.origin)


def _report_unused(flags: _Flags, values: Mapping[str, Traced[str]], report: Report) -> None:
    known = {*flags.table, *flags.other, "model", "model_revision", "resolved_model_path"}
    for name, value in values.items():
        if name in known:
            continue
        if name in flags.filed:
            why = "sparkrun writes it to a file of its own"
            hint = "write that file in a mod, and a command: with --extra_llm_api_options"
        else:
            why = "sparkrun has none for it"
            hint = did_you_mean(name, flags.table) or "write a command: that uses it"
        report.warning(
            "SPK139",
            f"defaults.{name} becomes no flag: {why}, and the recipe has no command",
            value.origin.span,
            hint=hint,
        )
