import pytest
from flag_tools import check, said


def only(command, **where):
    found = check(f"org/m {command}", **where)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "command",
    [
        "--max-model-len 128k",
        "--max-model-len 128K",
        "--max-model-len auto",
        "--max-num-batched-tokens 25.6k",
        "--max-num-seqs 1_000",
        "--gpu-memory-utilization 0.9",
        "--dtype bfloat16",
        "--kv-cache-dtype fp8",
        "--moe-backend FLASHINFER-CUTLASS",
        "--quantization FP8",
        "--attention-backend flashinfer",
        "--tool-call-parser hermes",
        "--reasoning-parser qwen3",
        "--load-format instanttensor",
        "--tool-call-parser mine --tool-parser-plugin /mine.py",
        "--reasoning-parser mine --reasoning-parser-plugin /mine.py",
        "--distributed-executor-backend my.Executor",
        '--kv-transfer-config \'{"kv_connector":"NixlConnector","kv_role":"kv_both"}\'',
    ],
)
def test_what_the_engine_takes(command):
    assert check(f"org/m {command}") == ()


@pytest.mark.parametrize(
    ("command", "code", "message", "hint"),
    [
        ("--max-num-seqs abc", "SPK810", "--max-num-seqs takes a whole number, got 'abc'", "write digits only"),
        (
            "--max-num-seqs 4k",
            "SPK810",
            "--max-num-seqs takes a whole number, got '4k'",
            "this flag takes no suffix: write 4000",
        ),
        (
            "--max-model-len 1.5K",
            "SPK810",
            "--max-model-len takes a whole number, one like 128k (128000) or 128K (131072), or auto, got '1.5K'",
            "write digits only",
        ),
        ("--gpu-memory-utilization 108", "SPK811", "--gpu-memory-utilization must be at most 1, got 108", None),
        ("--max-num-seqs 0", "SPK811", "--max-num-seqs must be at least 1, got 0", None),
        ("--dtype fp99", "SPK809", "--dtype of vLLM 0.33.0 does not take 'fp99'", None),
        (
            "--kv-cache-dtype fp8_e4",
            "SPK809",
            "--kv-cache-dtype of vLLM 0.33.0 does not take 'fp8_e4'",
            "did you mean 'fp8_e4m3'?",
        ),
        (
            "--tool-call-parser hermess",
            "SPK809",
            "--tool-call-parser of vLLM 0.33.0 does not know 'hermess'",
            "did you mean 'hermes'?",
        ),
        (
            "--quantization modelopt_nvfp4",
            "SPK809",
            "--quantization of vLLM 0.33.0 does not know 'modelopt_nvfp4'",
            "did you mean 'modelopt_fp4'?",
        ),
        ("-O9", "SPK811", "the optimization level is 0, 1, 2 or 3, got 9", "write -O3 or less"),
    ],
)
def test_what_it_refuses(command, code, message, hint):
    found = only(command)
    assert (found.code, found.severity.value, found.message) == (code, "error", f"{message} (given)")
    assert hint is None or found.hint == hint


def test_the_range_of_memory_is_checked_where_the_parser_has_none():
    assert said("org/m --gpu-memory-utilization 108", version="0.11.0") == ["error SPK811"]


def test_a_parser_that_came_between_two_recorded_versions_is_a_note():
    assert said("org/m --tool-call-parser kimi_k3", version="0.27.1") == ["note SPK809"]
    assert said("org/m --tool-call-parser kimi_k4", version="0.27.1") == ["error SPK809"]


def test_a_beginning_of_names_gets_the_names():
    (one,) = check("org/m --tool-call-parser cohere")
    assert one.hint == "did you mean 'cohere_command3' or 'cohere_command4'?"


def test_names_outside_open_lists_need_a_plugin():
    assert said("org/m --tokenizer-mode mine") == ["warning SPK809"]


def test_deprecated_options_name_what_to_use():
    found = check("--model-path m --disable-cuda-graph", "sglang", "0.5.23")[0]
    assert (found.code, found.hint) == ("SPK803", "use --cuda-graph-backend-{decode,prefill}=disabled")
    assert said("org/m --log-config-file f.json") == ["warning SPK803"]


def test_sglang_checks_its_choices_itself():
    assert said("--model-path m --attention-backend triton", "sglang", "0.5.23") == []
    assert said("--model-path m --tool-call-parser hermess", "sglang", "0.5.23") == ["error SPK809"]
