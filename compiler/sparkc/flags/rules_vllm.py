"""Rules about several flags of vLLM together, each with where it is from.

"refuses" below means an exception when the arguments are checked (``vllm.entrypoints.cli.serve``) or when the engine's
configuration is built (``EngineArgs.create_engine_config``); argparse itself takes all of this.
"""

from __future__ import annotations

from collections.abc import Callable

from sparkc.flags.nearest import nearest
from sparkc.flags.rules_vllm_cudagraph import capture_sizes
from sparkc.flags.rules_vllm_speculative import speculative
from sparkc.flags.situation import Situation

Rule = Callable[[Situation], None]

# A flag and the key in another option's JSON that mean the same field: vLLM refuses both together.
_EXCLUSIVE = (
    ("--enable-flashinfer-autotune", "--kernel-config", "enable_flashinfer_autotune"),
    ("--attention-backend", "--attention-config", "backend"),
    ("--cudagraph-capture-sizes", "--compilation-config", "cudagraph_capture_sizes"),
    ("--max-cudagraph-capture-size", "--compilation-config", "max_cudagraph_capture_size"),
    ("--spec-method", "--speculative-config", "method"),
    ("--spec-model", "--speculative-config", "model"),
    ("--spec-tokens", "--speculative-config", "num_speculative_tokens"),
)
# A switch and what it needs: vLLM refuses the one without the other.
_NEEDS = (
    ("--enable-auto-tool-choice", "--tool-call-parser"),
    ("--enable-log-outputs", "--enable-log-requests"),
    ("--enable-eplb", "--enable-expert-parallel"),
)
# Flags that vLLM refuses in one command.
_CONTRARY = (
    ("--enable-per-request-metrics", "--disable-log-stats"),
    ("--data-parallel-external-lb", "--data-parallel-hybrid-lb"),
)
# With these every node serves its own API, and no rank is headless.
_API_EVERYWHERE = ("--data-parallel-hybrid-lb", "--data-parallel-external-lb")


def exclusive(here: Situation) -> None:
    """A field of the engine is set once: by its flag, or by its key in JSON."""
    for flag, option, key in _EXCLUSIVE:
        if here.line.last(flag) is not None and here.config(option).get(key) is not None:
            here.findings.wrong(
                "SPK817",
                f"{flag} and {key} in {option} set the same field, and vLLM refuses both together",
                here.place(option),
                hint="keep one of them",
            )


def needs(here: Situation) -> None:
    """A switch without what it works with; a configuration file may hold the other, then nothing is known."""
    if here.line.last("--config") is not None:
        return
    for flag, other in _NEEDS:
        word = here.line.switch(flag)
        if word is not None and here.line.last(other) is None:
            here.findings.wrong("SPK818", f"vLLM refuses {flag} without {other}", word, hint=f"add {other}")


def contrary(here: Situation) -> None:
    """Two flags of which one takes away what the other works on."""
    for flag, other in _CONTRARY:
        word = here.line.switch(flag)
        if word is not None and here.line.switch(other) is not None:
            here.findings.wrong("SPK817", f"vLLM refuses {flag} together with {other}", word, hint="keep one of them")


def model_first(here: Situation) -> None:
    """The model of ``--served-model-name`` is read from the first word after ``serve``."""
    line = here.line
    served = line.last("--served-model-name")
    named = line.last("--config") is not None or line.last("--model") is not None
    if served is not None and not named and line.positional and line.begins_with_option:
        here.findings.wrong(
            "SPK818",
            "vLLM refuses --served-model-name unless the model is the first word after serve",
            served.flag,
            hint="write vllm serve MODEL --served-model-name …",
        )


def api_servers_on_workers(here: Situation) -> None:
    """In the native multi-node mode every rank has the same flags, and all but one are headless and refuse these."""
    count = here.given("--api-server-count")
    everywhere = any(here.line.switch(name) is not None for name in _API_EVERYWHERE)
    if here.engine == "vllm" and here.nnodes > 1 and not everywhere and count is not None and count[1] > 0:
        here.findings.wrong(
            "SPK817",
            "--api-server-count is for the API server; the headless workers of a cluster refuse it",
            count[0],
            hint="remove it",
        )


def several_nodes(here: Situation) -> None:
    """``--nnodes`` came with 0.11.1 (https://github.com/vllm-project/vllm/pull/23691)."""
    if here.engine == "vllm" and here.nnodes > 1 and here.version < (0, 11, 1) and here.line.words:
        here.findings.wrong(
            "SPK826",
            f"vLLM {here.findings.basis.stated} has no --nnodes: its native multi-node mode came with 0.11.1",
            here.line.words[0],
            hint="use a newer image, or compile with --ray",
        )


def memory(here: Situation) -> None:
    """The share of memory is a fraction; a size in bytes takes its place, and vLLM then no longer checks the sum."""
    use = here.line.last("--gpu-memory-utilization")
    if use is not None and use.value is not None and not use.option.limits:
        share = _float(use.value.value)
        if share is not None and not 0 < share <= 1:
            here.findings.wrong(
                "SPK811",
                f"--gpu-memory-utilization must be above 0 and at most 1, got {use.value.value}",
                use.value,
                hint="write a fraction",
            )
    size = here.line.last("--kv-cache-memory-bytes")
    if size is not None and size.value is not None:
        here.findings.note(
            "SPK824",
            "--kv-cache-memory-bytes takes the place of --gpu-memory-utilization: vLLM no longer checks that weights,"
            " cache and activations fit, and too much freezes a node with unified memory",
            size.value,
        )


def token_budget(here: Situation) -> None:
    """A token budget is refused below the number of sequences, and below the context without chunked prefill."""
    budget, sequences = here.given("--max-num-batched-tokens"), here.given("--max-num-seqs")
    if budget is None:
        return
    if sequences is not None and budget[1] < sequences[1]:
        here.findings.wrong(
            "SPK817",
            f"--max-num-batched-tokens ({budget[1]}) must not be below --max-num-seqs ({sequences[1]})",
            budget[0],
            hint="raise the one or lower the other",
        )
    chunked, context = here.line.last("--enable-chunked-prefill"), here.given("--max-model-len")
    if chunked is not None and chunked.off and context is not None and budget[1] < context[1]:
        here.findings.wrong(
            "SPK817",
            f"without chunked prefill --max-num-batched-tokens ({budget[1]}) must hold a whole prompt of"
            f" --max-model-len ({context[1]})",
            budget[0],
            hint=f"remove {chunked.spelling}",
        )


def parallel_sizes(here: Situation) -> None:
    """Sizes that vLLM refuses, and three-way tensor parallelism, which few models' attention heads allow."""
    tensor = here.size("--tensor-parallel-size")
    decode, prefill = here.size("--decode-context-parallel-size"), here.size("--prefill-context-parallel-size")
    if prefill == 1 and tensor % decode:
        here.findings.wrong(
            "SPK819",
            f"the tensor parallel size ({tensor}) must be a multiple of --decode-context-parallel-size ({decode})",
            here.place("--decode-context-parallel-size"),
            hint="change one of them",
        )
    data, local = here.size("--data-parallel-size"), here.given("--data-parallel-size-local")
    if local is not None and local[1] > data:
        here.findings.wrong(
            "SPK819",
            f"--data-parallel-size-local ({local[1]}) must not exceed --data-parallel-size ({data})",
            local[0],
            hint="correct one of them",
        )
    if tensor == 3:
        here.findings.doubtful(
            "SPK825",
            "tensor parallel size 3: attention heads must divide by it, and nearly all models have a power of two",
            here.place("--tensor-parallel-size"),
            hint="use --pipeline-parallel-size 3, or --data-parallel-size 3 with --enable-expert-parallel",
        )


def optimization_level(here: Situation) -> None:
    """The parser takes any text; VllmConfig has levels 0 to 3."""
    value = here.line.value("--optimization-level")
    if value is not None and value.value.isdecimal() and int(value.value) > 3:
        here.findings.wrong(
            "SPK811", f"the optimization level is 0, 1, 2 or 3, got {value.value}", value, hint="write -O3 or less"
        )


def connector(here: Situation) -> None:
    """The KV connectors of vLLM have names; a module path brings another."""
    config = here.config("--kv-transfer-config")
    name = config.get("kv_connector")
    known = here.findings.dump.registries.get("kv_connector", [])
    if isinstance(name, str) and known and name not in known and not config.get("kv_connector_module_path"):
        here.findings.unknown(
            "SPK809",
            f"--kv-transfer-config of {here.findings.basis.name} has no connector {name!r}",
            here.place("--kv-transfer-config"),
            hint=nearest(name, known) or "name the module that has it in kv_connector_module_path",
            known=lambda other: name in other.registries.get("kv_connector", []),
        )


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


RULES: tuple[Rule, ...] = (
    exclusive,
    needs,
    contrary,
    model_first,
    api_servers_on_workers,
    several_nodes,
    memory,
    token_budget,
    parallel_sizes,
    optimization_level,
    connector,
    capture_sizes,
    speculative,
)
