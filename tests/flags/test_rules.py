import pytest
from flag_tools import check, said


def only(command, *where, **more):
    found = check(command, *where, **more)
    assert len(found) == 1, found
    return found[0]


SPEC = "org/m --speculative-config"


@pytest.mark.parametrize(
    ("command", "finding"),
    [
        ("--kernel-config '{\"enable_flashinfer_autotune\":false}' --no-enable-flashinfer-autotune", "error SPK817"),
        ("--attention-backend FLASHINFER -ac.backend FLASHINFER", "error SPK817"),
        ("--cudagraph-capture-sizes 1 2 -cc.cudagraph_capture_sizes '[1]'", "error SPK817"),
        ("--enable-auto-tool-choice", "error SPK818"),
        ("--enable-log-outputs", "error SPK818"),
        ("--enable-eplb", "error SPK818"),
        ("--enable-per-request-metrics --disable-log-stats", "error SPK817"),
        ("--max-num-batched-tokens 4 --max-num-seqs 8", "error SPK817"),
        ("--no-enable-chunked-prefill --max-num-batched-tokens 4k --max-model-len 8k", "error SPK817"),
        ("-tp 2 -dcp 4", "error SPK819"),
        ("-dp 1 -dpl 2", "error SPK819"),
        ("-tp 3", "warning SPK825"),
        ("--kv-cache-memory-bytes 40G", "note SPK824"),
        ("--cudagraph-capture-sizes 1 2 4 --max-cudagraph-capture-size 8", "error SPK821"),
        ("-cc.cudagraph_capture_sizes '[1,2]' -cc.max_cudagraph_capture_size 4", "error SPK821"),
        ("--max-cudagraph-capture-size 4 --max-num-seqs 8", "note SPK821"),
        ('--kv-transfer-config \'{"kv_connector":"NixlConector"}\'', "error SPK809"),
    ],
)
def test_vllm_refuses_or_warns(command, finding):
    assert said(f"org/m {command}") == [finding]


@pytest.mark.parametrize(
    "command",
    [
        '--kernel-config \'{"moe_backend":"auto"}\' --no-enable-flashinfer-autotune',
        "--enable-auto-tool-choice --tool-call-parser hermes",
        "--enable-auto-tool-choice --config f.yaml",
        "--no-enable-auto-tool-choice",
        "--max-num-batched-tokens 8 --max-num-seqs 8",
        "--max-num-batched-tokens 4k --max-model-len 8k",
        "-tp 4 -dcp 2",
        "-dp 2 -dpl 1",
        "--cudagraph-capture-sizes 1 2 4 --max-cudagraph-capture-size 4",
        "--cudagraph-capture-sizes 1 2 400 --max-cudagraph-capture-size 2 --max-num-batched-tokens 100",
        "--max-cudagraph-capture-size 4 --max-num-seqs 8 --enforce-eager",
        '--kv-transfer-config \'{"kv_connector":"Mine","kv_connector_module_path":"a.b"}\'',
        '--speculative-config \'{"method":"mtp","num_speculative_tokens":3}\'',
        '--speculative-config \'{"method":"ngram","num_speculative_tokens":3}\'',
        '--speculative-config \'{"method":"eagle3","model":"a/b-eagle3","num_speculative_tokens":3}\'',
        "--spec-method mtp --spec-tokens 3",
    ],
)
def test_what_goes_together(command):
    assert check(f"org/m {command}") == ()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('{"method":"eagle3","num_speculative_tokens":2}', "which method 'eagle3' needs"),
        ('{"num_speculative_tokens":2}', "without a draft model"),
        ('{"method":"eagle3","model":"~/draft","num_speculative_tokens":2}', "no path that vLLM finds"),
        ('{"method":"eagle","model":"z/Qwen-DFlash","num_speculative_tokens":2}', "by its name for method 'dflash'"),
        ('{"method":"mtp","num_speculative_tokens":2,"draft_tensor_parallel_size":2}', "1 or the model's own (4)"),
        ('{"method":"mtp","num_speculative_tokens":2,"tensor_parallel_size":4}', "refuses tensor_parallel_size"),
        ('{"method":"dflash","model":"z/q-DFlash","num_speculative_tokens":2}', "which is on by default"),
    ],
)
def test_speculative_decoding(config, words):
    found = only(f"{SPEC} '{config}' -tp 4")
    assert found.code == "SPK820"
    assert words in found.message


def test_a_draft_of_its_own_size_and_dflash_without_prefix_caching_are_fine():
    draft = '{"method":"dflash","model":"z/q-DFlash","num_speculative_tokens":2,"draft_tensor_parallel_size":1}'
    assert said(f"{SPEC} '{draft}' -tp 4 --no-enable-prefix-caching") == []
    assert said(f"{SPEC} '{draft}' -tp 4 --enable-prefix-caching") == ["warning SPK820"]


def test_drafts_count_for_the_sizes_of_graphs():
    found = only(
        f'{SPEC} \'{{"method":"mtp","num_speculative_tokens":3}}\' --max-num-seqs 8 --max-cudagraph-capture-size 16'
    )
    assert "a full decode batch of 8 sequences has 32" in found.message


def test_the_model_comes_first_where_a_name_is_served():
    assert said("--served-model-name a --port 8000") == ["error SPK818"]
    assert said("--port 8000 org/m --served-model-name a") == ["error SPK818"]
    assert said("org/m --served-model-name a") == []
    assert said("--model org/m --served-model-name a") == []


def test_headless_workers_have_no_api_server():
    assert said("org/m -tp 2 --api-server-count 2", nnodes=2) == ["error SPK817"]
    assert said("org/m -tp 2 --api-server-count 2") == []
    assert said("org/m -dp 2 --api-server-count 2 --data-parallel-hybrid-lb", nnodes=2) == []


def test_native_clusters_need_a_version_that_has_them():
    assert said("org/m -tp 2", version="0.11.0", nnodes=2) == ["error SPK826"]
    assert said("org/m -tp 2", version="0.11.1", nnodes=2) == []


@pytest.mark.parametrize(
    ("command", "nnodes", "finding"),
    [
        ("--mem-fraction-static 1.2", 1, ["error SPK811"]),
        ("--mem-fraction-static 0.8", 1, []),
        ("--tp-size 3", 2, ["error SPK819"]),
        ("--tp-size 2", 2, []),
        ("--tp-size 2 --dp-size 2", 2, ["error SPK819"]),
        ("--tp-size 2 --attn-dp-size 2", 2, []),
        ("--chunked-prefill-size 100 --page-size 64", 1, ["error SPK817"]),
        ("--chunked-prefill-size -1 --page-size 64", 1, []),
        ("--served-model-name a:b", 1, ["error SPK817"]),
    ],
)
def test_sglang(command, nnodes, finding):
    assert said(f"--model-path m {command}", "sglang", "0.5.23", nnodes=nnodes) == finding


@pytest.mark.parametrize("version", ["0.5.5", "0.5.11", "0.5.15", "0.5.23"])
@pytest.mark.parametrize("name", ["--tp-size", "--tensor-parallel-size"])
def test_either_name_of_a_size_counts_in_every_version(name, version):
    assert said(f"--model-path m {name} 2", "sglang", version, nnodes=2) == []
    assert said(f"--model-path m {name} 3", "sglang", version, nnodes=2) == ["error SPK819"]
