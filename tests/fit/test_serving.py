"""What a command says about memory."""

from __future__ import annotations

import pytest

from sparkc.diagnostics import Report
from sparkc.fit.serving import read_vllm
from sparkc.traced import Traced
from support.fit_models import RULE, serving

GIB = 1 << 30


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--gpu-memory-utilization", "0.8"), (0.8, None, None)),
        (("--gpu_memory_utilization=0.85",), (0.85, None, None)),
        (("--gpu-memory-utilization-gb", "108"), (None, 108 * GIB, None)),
        (("--gpu-memory-utilization", "0.9", "--kv-cache-memory-bytes", "2G"), (None, None, 2 * GIB)),
        (("--kv-cache-memory-bytes", "2g"), (None, None, 2 * 10**9)),
    ],
)
def test_one_limit_rules(words, rule):
    found = serving("vllm", "serve", "org/m", *words)

    assert (found.fraction, found.reserve, found.cache) == rule


@pytest.mark.parametrize(("version", "expected"), [(None, 0.92), ("0.33.0", 0.92), ("0.17.1", 0.9), ("nightly", 0.92)])
def test_the_default_limit_is_that_of_the_version(version, expected):
    found = serving(version=version)

    assert found.fraction == expected
    assert found.limit == f"--gpu-memory-utilization {expected} (vLLM's default)"


@pytest.mark.parametrize(("version", "sizes"), [("0.33.0", (2048, 256)), ("v0.32", (8192, 1024)), (None, (2048, 256))])
def test_batch_defaults_are_those_of_the_version(version, sizes):
    found = serving(version=version)

    assert (found.batched, found.sequences) == sizes


@pytest.mark.parametrize(
    ("text", "length", "auto"),
    [("128k", 128_000, False), ("128K", 131_072, False), ("-1", None, True), ("auto", None, True)],
)
def test_lengths_have_units(text, length, auto):
    found = serving("--max-model-len", text)

    assert (found.length, found.auto) == (length, auto)


@pytest.mark.parametrize(
    "words",
    [
        ("--enforce-eager",),
        ("--compilation-config", '{"cudagraph_mode": "NONE"}'),
        ("--compilation-config.cudagraph_mode", "none"),
        ("-cc.cudagraph_mode=NONE",),
    ],
)
def test_graphs_can_be_off(words):
    assert serving(*words).eager
    assert not serving("--compilation-config", '{"cudagraph_mode": "FULL"}').eager


def test_graphs_can_be_left_out_of_the_budget():
    assert serving(env={"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}).outside_graphs
    assert not serving().outside_graphs


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ('{"method": "mtp", "num_speculative_tokens": 3}', ("mtp", 3, None, None, True)),
        ('{"method": "deepseek_mtp", "model": "org/m"}', ("deepseek_mtp", 1, None, None, True)),
        (
            '{"method": "eagle3", "model": "org/d", "num_speculative_tokens": 2, "draft_tensor_parallel_size": 1}',
            ("eagle3", 2, "org/d", 1, True),
        ),
        (
            '{"method": "dflash", "model": "/d", "draft_load_config": {"load_format": "b12x"}}',
            ("dflash", 1, "/d", None, False),
        ),
        ('{"method": "ngram", "num_speculative_tokens": 4}', None),
        ("not json", None),
    ],
)
def test_speculation(config, expected):
    found = serving("--speculative-config", config).speculation

    if expected is None:
        assert found is None
    else:
        model = None if found.model is None else found.model.value
        assert (found.method, found.tokens, model, found.tensor, found.mapped) == expected


def test_a_streaming_loader_reads_the_draft_too_unless_it_has_its_own():
    streamed = ("--load-format", "instanttensor", "--speculative-config")

    assert not serving(*streamed, '{"method": "mtp"}').speculation.mapped
    own = '{"method": "mtp", "draft_load_config": {"load_format": "safetensors"}}'
    assert serving(*streamed, own).speculation.mapped


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--gpu-memory-utilization", "108"), "a number up to 1"),
        (("--gpu-memory-utilization", "0"), "a number up to 1"),
        (("--max-model-len", "$LEN"), "a whole number above 0"),
        (("--max-num-seqs", "2.5"), "a whole number above 0"),
        (("--kv-cache-memory-bytes", "0"), "a whole number above 0"),
        (("--gpu-memory-utilization", "."), "a number up to 1"),
    ],
)
def test_a_value_that_is_no_number_is_an_error(words, message):
    report = Report()
    read_vllm(tuple(Traced(word, RULE) for word in words), {}, None, report)

    [found] = report.diagnostics
    assert found.code == "SPK723"
    assert message in found.message
    assert words[1] in found.message


def test_sglang_bounds_weights_and_cache_only():
    words = ("--mem-fraction-static", "0.7", "--context-length", "4096", "--max-running-requests", "8")
    draft = ("--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", "org/d")
    found = serving(*words, *draft, engine="sglang")

    assert (found.engine, found.fraction, found.length, found.sequences) == ("SGLang", 0.7, 4096, 8)
    assert found.speculation is not None
    assert found.speculation.model.value == "org/d"
    assert serving(engine="sglang").limit == "--mem-fraction-static 0.85 (assumed)"
