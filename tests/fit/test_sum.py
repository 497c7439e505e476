"""The sum, the verdict and the advice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.fit.architecture import architecture
from sparkc.fit.budget import NodeMemory, Task, fit
from sparkc.fit.model import GIB, Checkpoint, Model
from sparkc.fit.table import table
from support.fit_models import DENSE, MLA, QWEN, model, serving, summed, world

WEIGHTS = 40 * GIB
FLAGS = ("--gpu-memory-utilization", "0.5", "--max-num-batched-tokens", "1000", "--max-num-seqs", "10")


def lines(found):
    return {line.name: line for line in found.tightest.lines}


def test_the_sum_by_hand():
    found = summed(model(DENSE, WEIGHTS), *FLAGS, "--enforce-eager", memory=(100.0,))
    parts = lines(found)

    assert parts["weights"].size == WEIGHTS
    # 2 bytes × 1000 tokens × (6 × 128 + 2 × 512), and 8 bytes × 10 sequences × 1000 words
    assert parts["activations"].size == 2000 * (768 + 1024) + 80_000
    assert parts["CUDA graphs"].size == 0
    assert parts["runtime"].size == 1.5 * GIB
    assert parts["host"].size == 9 * GIB
    rank = found.tightest
    assert rank.pool == 50 * GIB - WEIGHTS - parts["activations"].size - 3 * GIB // 2
    assert rank.budget == 50 * GIB
    assert rank.total == 59 * GIB
    assert rank.left == 41 * GIB
    assert rank.sequence == 4096 * 1024
    assert rank.tokens == rank.pool // 1024
    assert found.fits


def test_graphs_count_for_each_layer_and_batch_size():
    # 3 sizes, and every eighth up to 2 × 10
    graphs = lines(summed(model(DENSE, WEIGHTS), *FLAGS))["CUDA graphs"]

    assert graphs.size == 256 * (1 << 20) + 5 * 4 * (1 << 18)
    assert graphs.basis == "estimated"


def test_graphs_beside_the_budget_leave_it_to_the_cache():
    inside = summed(model(DENSE, WEIGHTS), *FLAGS).tightest
    outside = summed(model(DENSE, WEIGHTS), *FLAGS, env={"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}).tightest
    graphs = next(line.size for line in inside.lines if line.name == "CUDA graphs")

    assert outside.pool - inside.pool == graphs
    assert outside.total - inside.total == graphs


def test_images_need_more_unless_the_command_excludes_them():
    of = model({**DENSE, "vision_config": {}}, WEIGHTS)
    with_images = summed(of, *FLAGS)
    text_only = summed(of, *FLAGS, "--limit-mm-per-prompt", '{"image": 0, "video": 0}')

    assert lines(with_images)["activations"].size - lines(text_only)["activations"].size == GIB
    assert lines(with_images)["image cache"].size == 4 * GIB
    assert "image cache" not in lines(text_only)
    assert lines(summed(of, *FLAGS, "--mm-processor-cache-gb", "2"))["image cache"].size == 2 * GIB


def test_a_cache_in_bytes_is_taken_as_it_is_and_added_up():
    found = summed(model(DENSE, WEIGHTS), *FLAGS, "--kv-cache-memory-bytes", "80G", memory=(100.0,))

    assert found.tightest.pool == 80 * GIB
    assert not found.fits
    assert "the sum is" in found.problems[0]
    assert found.advice == (
        f"lower the limit (--kv-cache-memory-bytes) by {-found.tightest.left / GIB:.2f} GiB, or free memory on s0",
    )


def test_gib_are_gib():
    assert summed(model(DENSE, WEIGHTS), "--gpu-memory-utilization-gb", "108").tightest.budget == 108 * GIB


def test_weights_that_are_too_large_say_by_how_much():
    found = summed(model(DENSE, 60 * GIB), *FLAGS, "--enforce-eager", memory=(100.0,))

    assert found.tightest.pool < 0
    assert found.tightest.tokens == 0
    [problem] = found.problems
    assert problem.startswith("rank 0 on s0: the weights and what the engine needs exceed --gpu-memory-utilization 0.5")
    assert found.advice == ("--gpu-memory-utilization 0.62 fits",)


def test_a_context_that_is_too_long_gets_the_longest_that_fits():
    config = {**DENSE, "max_position_embeddings": 100 * 1024 * 1024}
    found = summed(model(config, WEIGHTS), *FLAGS, "--enforce-eager", memory=(100.0,))
    rank = found.tightest

    assert not found.fits
    assert found.advice[0] == f"--max-model-len {rank.length} fits"
    assert summed(
        model(config, WEIGHTS), *FLAGS, "--enforce-eager", "--max-model-len", str(rank.length), memory=(100.0,)
    ).fits
    again = summed(
        model(config, WEIGHTS), *FLAGS, "--enforce-eager", "--max-model-len", str(rank.length + 16), memory=(100.0,)
    )
    assert not again.fits


def test_an_automatic_length_fits_as_far_as_it_goes():
    config = {**DENSE, "max_position_embeddings": 100 * 1024 * 1024}
    found = summed(model(config, WEIGHTS), *FLAGS, "--max-model-len", "auto", memory=(100.0,))

    assert found.fits
    assert found.max_length == found.tightest.length < 100 * 1024 * 1024


def test_the_smallest_node_decides():
    found = summed(model(DENSE, WEIGHTS), "--gpu-memory-utilization", "0.5", sizes=world(2), memory=(119.7, 80.0))

    assert found.tightest.rank == 1
    assert found.ranks[0].pool > found.ranks[1].pool


def test_a_measured_token_needs_no_formula():
    config = {**DENSE, "compress_ratios": [4, 128]}
    report = Report()
    known = architecture(config, "config.json", None, report, measured=True)
    of = Model("org/m", known, Checkpoint(WEIGHTS, "measured", "weights_bytes"), token_size=17_043)
    found = summed(of, *FLAGS)

    assert found.cache_basis == "measured"
    assert found.tightest.sequence == 4096 * 17_043
    assert found.tightest.tokens == found.tightest.pool // 17_043


def test_context_parallelism_spreads_a_sequence():
    one = summed(model(MLA, WEIGHTS), *FLAGS, sizes=world(2)).tightest
    two = summed(model(MLA, WEIGHTS), *FLAGS, "-dcp", "2", sizes=world(2)).tightest

    assert two.sequence * 2 == one.sequence
    assert two.tokens >= 2 * one.tokens - 2


def test_a_model_without_a_length_is_an_error():
    config = {key: value for key, value in DENSE.items() if key != "max_position_embeddings"}
    report = Report()
    task = Task(model(config, WEIGHTS), None, serving(), world(), (NodeMemory("s0", None),))

    assert fit(task, None, report) is None
    assert [found.code for found in report.diagnostics] == ["SPK722"]


def test_sglang_adds_activations_and_graphs():
    found = summed(model(DENSE, WEIGHTS), "--mem-fraction-static", "0.5", engine="sglang", memory=(100.0,)).tightest

    assert found.pool == 50 * GIB - WEIGHTS
    assert found.budget == 50 * GIB
    # host, runtime and the fixed part of the graphs, and a little for activations
    assert 60.75 * GIB < found.total < 61 * GIB


def test_the_table_shows_every_addend_with_its_basis():
    words = ("--speculative-config", '{"method": "mtp"}')
    text = table(summed(model({**DENSE, "num_nextn_predict_layers": 1}, WEIGHTS), *FLAGS, *words, sizes=world(2)))
    rows = {line.split("  ")[1]: line for line in text.splitlines() if line.startswith("  ")}

    for name, basis in [
        ("weights", "estimated"), ("draft (mtp)", "estimated"), ("activations", "estimated"), ("runtime", "estimated"),
        ("KV cache", "estimated"), ("host", "estimated"), ("(draft, mapped)", "estimated"),
    ]:  # fmt: skip
        assert basis in rows[name], text
    assert "engine" in rows
    assert "59.85 GiB" in rows["engine"]
    assert "119.70 GiB" in rows["node"]
    assert "rank 1 on s1: 4 layers" in text
    assert text.endswith("It fits.")


@given(
    st.sampled_from([DENSE, MLA, QWEN]),
    st.integers(1, 98),
    st.integers(1, 100),
    st.sampled_from([1, 2, 4, 8]),
)
def test_more_utilization_never_means_fewer_tokens(config, percent, gibs, tensor):
    of = model(config, gibs * GIB)
    fits = [
        summed(of, "--gpu-memory-utilization", str(value / 100), sizes=world(tensor))
        for value in (percent, percent + 1)
    ]

    assert fits[0].tightest.tokens <= fits[1].tightest.tokens
    assert fits[0].tightest.length <= fits[1].tightest.length
    for found in fits:
        for rank in found.ranks:
            assert rank.total + rank.left == rank.memory
            assert (rank.length == found.max_length) == (rank.pool >= rank.sequence)


@given(st.sampled_from([DENSE, MLA, QWEN]), st.integers(1, 100), st.sampled_from([1, 2, 4]))
def test_the_advice_is_right(config, gibs, tensor):
    of = model(config, gibs * GIB)
    found = summed(of, "--gpu-memory-utilization", "0.3", sizes=world(tensor))

    for advice in found.advice:
        flag, _, rest = advice.partition(" ")
        if advice.endswith(" fits"):
            words = {"--gpu-memory-utilization": "0.3"} | {flag: rest.split()[0]}
            assert summed(of, *(word for pair in words.items() for word in pair), sizes=world(tensor)).fits


def test_ranks_of_a_stage_are_neighbours_and_the_last_stage_has_the_draft():
    config = {**DENSE, "num_hidden_layers": 5, "num_nextn_predict_layers": 1}
    # 6 layers of 600 000 bytes beside the vocabulary's 512 000
    of = model(config, 6 * 600_000 + 512_000)
    found = summed(of, "--speculative-config", '{"method": "mtp"}', sizes=world(2, 2))

    assert [rank.layers for rank in found.ranks] == [3, 3, 2, 2]
    drafts = [[line.size for line in rank.lines if line.name == "draft (mtp)"] for rank in found.ranks]
    assert drafts == [[], [], [300_000], [300_000]]
    assert [rank.lines[0].size for rank in found.ranks] == [128_000 + 900_000] * 2 + [128_000 + 600_000] * 2
    assert [rank.token for rank in found.ranks] == [3 * 128.0] * 4


def test_only_rank_0_keeps_images():
    found = summed(model({**DENSE, "vision_config": {}}, WEIGHTS), *FLAGS, sizes=world(2))

    assert ["image cache" in {line.name for line in rank.lines} for rank in found.ranks] == [True, False]
