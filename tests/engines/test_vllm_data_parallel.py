"""vLLM's data parallel layouts that a recipe asks for with its own flags."""

from dataclasses import replace

import pytest

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.planning.model import Exec
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, compile_text, native, v1

START = "vllm serve org/m"
RPC = "--data-parallel-address 10.0.0.1 --data-parallel-rpc-port 29501"


def compiled(flags, **overrides):
    return compile_text(v1(f"{START} {flags}"), **overrides)


def words(text):
    return text.split()


def test_plain_data_parallelism_uses_the_native_mode():
    found = compiled("-dp 2")
    assert found.argv(1)[3:] == words(
        "-dp 2 --nnodes 2 --node-rank 1 --master-addr 10.0.0.1 --master-port 29501 --headless"
    )


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("local", ["--data-parallel-size-local 1", "-dpl=1"])
def test_an_internal_balancer_stands_on_rank_0(local, nodes):
    flags = f"--data-parallel-size {nodes} {local}"
    found = compiled(flags)
    assert found.argv(0) == words(f"{START} {flags} {RPC}")
    for rank in range(1, nodes):
        assert found.argv(rank) == words(f"{START} {flags} --data-parallel-start-rank {rank} {RPC} --headless")
    head, *workers = found.ranks
    assert [(port.name, port.number) for port in head.ports] == [("api", 8000), ("master", 29501)]
    assert (head.wave, {worker.wave for worker in workers}) == (1, {0})
    assert all(worker.probe is None and worker.ports == () for worker in workers)
    assert found.env(1)["VLLM_HOST_IP"] == "10.0.0.2"


@pytest.mark.parametrize(
    ("flags", "added"),
    [
        ("-dp 2 --data-parallel-hybrid-lb -dpl 1", ""),
        ("-dp 2 --data-parallel-hybrid-lb", " --data-parallel-size-local 1"),
        ("-dp 2 -dph", " --data-parallel-size-local 1"),
    ],
)
def test_before_a_hybrid_balancer_every_rank_serves(flags, added):
    found = compiled(f"{flags} --port 9000")
    for rank in (0, 1):
        assert found.argv(rank) == words(f"{START} {flags} --port 9000{added} --data-parallel-start-rank {rank} {RPC}")
    head, worker = found.ranks
    assert [(port.name, port.number) for port in worker.ports] == [("api", 9000)]
    assert [endpoint.url for endpoint in found.plan.endpoints] == ["http://s1.lan:9000", "http://s2.lan:9000"]
    assert worker.probe.url == head.probe.url == "http://127.0.0.1:9000/health"
    assert worker.deep_probe == "/v1/completions"


@pytest.mark.parametrize("flag", ["--data-parallel-hybrid-lb", "-dph", "--data-parallel-external-lb"])
def test_a_note_tells_that_dense_models_are_refused(flag):
    (note,) = compiled(f"-dp 2 {flag}").report.diagnostics
    assert (note.code, note.severity.value, note.span.column) == ("SPK317", "note", 26)
    assert note.message.startswith(flag)
    assert compiled("-dp 2 -dpl 1").codes == []


def test_an_external_balancer_numbers_the_ranks():
    found = compiled("-dp 2 --data-parallel-external-lb", master_port=1234)
    rpc = RPC.replace("29501", "1234")
    for rank in (0, 1):
        expected = f"{START} -dp 2 --data-parallel-external-lb --data-parallel-rank {rank} {rpc}"
        assert found.argv(rank) == words(expected)
    assert all(rank.probe is not None for rank in found.ranks)


def test_one_node_keeps_its_flags():
    found = compiled("-dp 1 -dpl 1 --data-parallel-hybrid-lb")
    assert found.argv() == words(f"{START} -dp 1 -dpl 1 --data-parallel-hybrid-lb")


@pytest.mark.parametrize("flags", ["--data-parallel-size-local 1", "--data-parallel-hybrid-lb"])
def test_on_ray_one_command_lays_out_the_replicas(flags):
    found = compiled(f"-dp 2 {flags} --data-parallel-backend ray", ray=True)
    assert "--data-parallel-start-rank" not in found.argv()
    assert "SPK317" not in found.codes


def test_nodes_with_several_gpus_have_several_replicas_each():
    lab = LAB.replace("user: spark,", "user: spark, gpus: 2,")
    found = compile_text(v1(f"{START} -dp 4 -dph"), lab)
    assert found.argv(1)[3:] == words(f"-dp 4 -dph --data-parallel-size-local 2 --data-parallel-start-rank 2 {RPC}")
    assert "SPK317" not in found.codes


@pytest.mark.parametrize(
    ("flags", "column", "message"),
    [
        ("-dp 2 -dpl 2", 31, "2 data parallel replicas do not fill 2 nodes with 2 each"),
        ("-dp 2 -dpl 0", 31, "leaves the GPUs of a node idle"),
        ("-tp 2 -dp 2 -dpl 1", 37, "2 data parallel replicas do not fill 4 nodes with 1 each"),
        ("-tp 2 --data-parallel-external-lb", None, "1 data parallel replicas do not fill 2 nodes"),
        ("-dp 2 -dpm", 26, "balances over the GPUs of one node"),
    ],
)
def test_layouts_that_do_not_fill_the_nodes(flags, column, message):
    found = compiled(flags)
    (error,) = found.report.diagnostics
    assert error.code == "SPK314"
    assert message in error.message
    assert (error.span.column if error.span else None) == column
    assert error.hint


@pytest.mark.parametrize("value", ["x", "''", "1.5"])
def test_a_local_size_that_is_no_number(value):
    found = compiled(f"-dp 2 -dpl {value}")
    assert found.plan is None
    assert found.codes[0] == "SPK312"


@pytest.mark.parametrize(
    "flag",
    [
        "--data-parallel-rank 0", "-dpn 0", "--data-parallel-start-rank=1", "-dpr 1", "--data_parallel_address x",
        "-dpa x", "--data-parallel-rpc-port 1", "-dpp=1",
    ],
)  # fmt: skip
def test_flags_of_one_rank_belong_to_sparkc(flag):
    assert compiled(f"-dp 2 {flag}").codes == ["SPK310"]


def test_prefill_context_parallelism_takes_gpus_too():
    found = compiled("-tp 2 --prefill-context-parallel-size 2")
    assert found.plan.nnodes == 4
    assert "(tp=2 × pp=1 × dp=1 × cp=2)" in compiled("-tp 2 -pcp 2", nodes="2").text


def changed(rank, last="", env=None):
    added = tuple(Traced(word, from_flag(word)) for word in last.split())
    made = replace(rank, process=Exec((*rank.process.argv, *added)))
    if env is None:
        return made
    return replace(made, environment={**rank.environment, "VLLM_HOST_IP": Traced(env, from_flag("-e"))})


@pytest.mark.parametrize(
    ("flags", "rank", "change", "problem"),
    [
        ("-dpl 1", 1, {"last": "--data-parallel-start-rank 0"}, "--data-parallel-start-rank must be 0, 1, got 0, 0"),
        ("-dpl 1", 1, {"last": "--data-parallel-rpc-port 1"}, "--data-parallel-rpc-port differs between ranks"),
        ("-dpl 1", 1, {"last": "--data-parallel-address x"}, "--data-parallel-address differs between ranks"),
        ("-dpl 1", 0, {"last": "--headless"}, "--headless must stand on every worker"),
        ("-dpl 1", 0, {"env": "10.0.0.7"}, "--data-parallel-address is not the address of rank 0 (10.0.0.7)"),
        ("-dph", 1, {"last": "--headless"}, "--headless must stand on no rank"),
        ("-dph", 0, {"last": "--data-parallel-start-rank 1"}, "--data-parallel-start-rank must be 0, 1, got 1, 1"),
        ("-dpe", 1, {"last": "--data-parallel-rank 0"}, "--data-parallel-rank must be 0, 1, got 0, 0"),
        ("-dpe", 1, {"env": "10.0.0.1"}, "VLLM_HOST_IP must be each node's own address"),
    ],
)
def test_the_group_check_finds_each_mistake(flags, rank, change, problem):
    ranks = list(compiled(f"-dp 2 {flags}").ranks)
    ranks[rank] = changed(ranks[rank], **change)
    report = Report()
    ENGINES["vllm"].check_group(ranks, None, report)
    assert [found.code for found in report.diagnostics] == ["SPK320"]
    assert problem in report.diagnostics[0].message


@pytest.mark.parametrize("flags", ["-dpl 1", "-dph", "-dpe"])
def test_a_good_group_passes(flags):
    report = Report()
    ENGINES["vllm"].check_group(
        compile_text(native(f"args: [-dp, '4', {flags.replace(' ', ', ')}]")).ranks, None, report
    )
    assert report.diagnostics == ()
