"""vLLM on Ray: one head that serves, workers that join it."""

from dataclasses import replace

import pytest

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.planning.model import Exec
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, compile_text, native, v1

THREE = native("parallel: {tensor: 3}", engine="vllm-ray")
MEMORY = "--object-store-memory 1073741824 --num-cpus 2 --disable-usage-stats"


def test_the_head_starts_ray_waits_for_all_and_serves():
    head = compile_text(THREE).ranks[0]
    start, wait = head.steps
    expected = "ray start --head --port=29501 --node-ip-address=10.0.0.1 --include-dashboard=false"
    assert start.argv == (*expected.split(), *MEMORY.split())
    assert start.deadline is None
    assert (wait.title, wait.argv[-1], wait.deadline) == ("wait until 3 nodes have joined Ray", "3", 600)
    compile(wait.argv[2], "step", "exec")
    words = [word.value for word in head.process.argv]
    assert words[-2:] == ["--distributed-executor-backend", "ray"]
    assert not {"--nnodes", "--node-rank", "--headless"} & set(words)
    assert [(port.name, port.number) for port in head.ports] == [("api", 8000), ("ray", 29501)]
    assert head.probe is not None


def test_a_worker_waits_for_the_head_and_stays():
    worker = compile_text(THREE, master_port=1234).ranks[2]
    expected = "ray start --block --address=10.0.0.1:1234 --node-ip-address=10.0.0.3"
    assert [word.value for word in worker.process.argv] == [*expected.split(), *MEMORY.split()]
    (wait,) = worker.steps
    assert (wait.argv[-2:], wait.deadline) == (("10.0.0.1", "1234"), 600)
    compile(wait.argv[2], "step", "exec")
    assert (worker.probe, worker.ports, worker.role) == (None, (), "worker")


@pytest.mark.parametrize(
    ("entrypoint", "before"),
    [("[/opt/env.sh, -x]", ["/opt/env.sh", "-x"]), ("[python3, /t.py, serve]", []), ("keep", [])],
)
def test_ray_is_started_through_the_entrypoint_too(entrypoint, before):
    compiled = compile_text(THREE + f"entrypoint: {entrypoint}\n")
    assert compiled.argv(1)[: len(before) + 2] == [*before, "ray", "start"]
    start, wait = compiled.ranks[0].steps
    assert list(start.argv[: len(before) + 1]) == [*before, "ray"]
    assert list(wait.argv[: len(before) + 1]) == [*before, "python3"]


def test_one_wave_and_the_same_environment_on_every_rank():
    compiled = compile_text(THREE)
    assert [rank.wave for rank in compiled.ranks] == [0, 0, 0]
    for number in range(3):
        address = f"10.0.0.{number + 1}"
        assert compiled.env(number).items() >= {
            ("VLLM_HOST_IP", address),
            ("RAY_NODE_IP_ADDRESS", address),
            ("RAY_OVERRIDE_NODE_IP_ADDRESS", address),
            ("RAY_memory_monitor_refresh_ms", "0"),
            ("RAY_num_prestart_python_workers", "0"),
            ("RAY_object_store_memory", "1073741824"),
        }


def test_one_node_needs_no_ray():
    compiled = compile_text(native("args: [--distributed-executor-backend, ray]", engine="vllm-ray"))
    assert compiled.argv()[-1] != "ray"
    assert compiled.ranks[0].steps == ()
    assert not any(key.startswith("RAY_") for key in compiled.env())


def test_ray_is_chosen_and_left_on_the_command_line():
    recipe = v1("vllm serve org/m -tp 2 --distributed-executor-backend mp --enforce-eager")
    compiled = compile_text(recipe, ray=True)
    assert (compiled.plan.engine, compiled.argv(1)[:2]) == ("vllm-ray", ["ray", "start"])
    assert compiled.argv()[3:] == ["-tp", "2", "--enforce-eager", "--distributed-executor-backend", "ray"]
    backend = compiled.ranks[0].process.argv[-1]
    assert (backend.origin.text, backend.overrode.value) == ("ray backend", "mp")
    assert compile_text(THREE, ray=False).argv(1)[-1] == "--headless"


def test_ipv6_addresses_have_brackets_where_a_port_follows():
    compiled = compile_text(THREE, LAB.replace("10.0.0.", "fd00::"))
    assert "--address=[fd00::1]:29501" in compiled.argv(1)
    assert "--node-ip-address=fd00::2" in compiled.argv(1)
    assert compiled.ranks[1].steps[0].argv[-2:] == ("fd00::1", "29501")


def test_rank_flags_are_refused_here_too():
    assert compile_text(native("args: [-tp, '2', --headless]", engine="vllm-ray")).codes == ["SPK310"]


def words(rank, old, new):
    argv = tuple(word.with_value(word.value.replace(old, new)) for word in rank.process.argv)
    return replace(rank, process=Exec(argv))


def host(rank, value):
    return replace(rank, environment={**rank.environment, "VLLM_HOST_IP": Traced(value, from_flag("-e"))})


@pytest.mark.parametrize(
    ("rank", "change", "problem"),
    [
        (1, lambda rank: words(rank, "address=10.0.0.1:", "address=10.0.0.9:"), "rank 1 does not join the Ray head"),
        (2, lambda rank: words(rank, ":29501", ":6379"), "rank 2 does not join the Ray head"),
        (2, lambda rank: words(rank, "--address=10.0.0.1:29501", "--x"), "rank 2 does not join the Ray head"),
        (
            1,
            lambda rank: words(rank, "ip-address=10.0.0.2", "ip-address=10.0.0.3"),
            "rank 1 does not join Ray with its",
        ),
        (0, lambda rank: words(rank, "ray", "mp"), "rank 0 does not serve on the ray backend"),
        (0, lambda rank: replace(rank, steps=()), "rank 0 does not start the Ray head at its own address"),
        (1, lambda rank: host(rank, "10.0.0.1"), "VLLM_HOST_IP must be each node's own address"),
        (1, lambda rank: host(rank, "127.0.0.1"), "VLLM_HOST_IP must be each node's own address"),
        (
            1,
            lambda rank: replace(rank, container=replace(rank.container, image=Traced("x", from_flag("-t")))),
            "the image differs between ranks",
        ),
    ],
)
def test_the_group_check_finds_each_mistake(rank, change, problem):
    ranks = list(compile_text(THREE).ranks)
    ranks[rank] = change(ranks[rank])
    report = Report()
    ENGINES["vllm-ray"].check_group(ranks, None, report)
    assert any(problem in found.message for found in report.diagnostics)
    assert {found.code for found in report.diagnostics} == {"SPK320"}


@pytest.mark.parametrize("inventory", [LAB, LAB.replace("10.0.0.", "fd00::")])
def test_a_good_group_passes(inventory):
    report = Report()
    ENGINES["vllm-ray"].check_group(compile_text(THREE, inventory).ranks, None, report)
    assert report.diagnostics == ()
