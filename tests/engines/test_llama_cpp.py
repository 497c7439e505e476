"""llama.cpp on one node, and with RPC servers on others."""

import socket
import subprocess
from dataclasses import replace

import pytest

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.planning.model import Exec
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, compile_text, native, sparkrun


def llama(*lines, model="/models/m.gguf"):
    text = native("host: 0.0.0.0", *lines, engine="llama-cpp").replace("org/model", model)
    return "\n".join(line for line in text.splitlines() if not line.startswith("revision:")) + "\n"


THREE = llama("nodes: 3")


def test_one_node_serves_alone():
    compiled = compile_text(llama("served_model_name: [a, b]", "port: 8001", "args: [--metrics]"))
    expected = "llama-server -m /models/m.gguf --alias a,b --host 0.0.0.0 --port 8001 --metrics"
    assert compiled.argv() == expected.split()
    (rank,) = compiled.ranks
    assert (rank.wave, rank.steps) == (0, ())
    assert [(port.name, port.number) for port in rank.ports] == [("api", 8001)]


def test_a_hub_repository_has_another_flag():
    compiled = compile_text(llama(model="org/m-GGUF:Q8_0"))
    assert compiled.argv()[:3] == ["llama-server", "-hf", "org/m-GGUF:Q8_0"]


@pytest.mark.parametrize("nodes", [2, 4])
def test_rank_0_uses_the_workers_and_waits_for_them(nodes):
    compiled = compile_text(llama(f"nodes: {nodes}"))
    servers = [f"10.0.0.{number}:50052" for number in range(2, nodes + 1)]
    head, *workers = compiled.ranks
    assert compiled.argv()[-2:] == ["--rpc", ",".join(servers)]
    assert [(step.title, step.deadline) for step in head.steps] == [
        (f"wait for the RPC server at {server}", 600) for server in servers
    ]
    assert [(port.name, port.number) for port in head.ports] == [("api", 8080)]
    assert (head.wave, {worker.wave for worker in workers}) == (1, {0})
    assert head.probe.test == (
        "CMD", "curl", "-fsS", "-m", "4", "-o", "/dev/null", "http://127.0.0.1:8080/health",
    )  # fmt: skip
    for number, worker in enumerate(workers, start=2):
        argv = [word.value for word in worker.process.argv]
        assert argv[:2] == ["sh", "-c"]
        assert argv[3:] == ["sh", "ggml-rpc-server", "rpc-server", "-H", f"10.0.0.{number}", "-p", "50052"]
        assert (worker.probe, worker.deep_probe, worker.steps) == (None, None, ())
        assert [(port.name, port.number) for port in worker.ports] == [("rpc", 50052)]


def test_the_model_is_on_rank_0_alone():
    compiled = compile_text(THREE)
    assert not any("/models/m.gguf" in compiled.argv(rank) for rank in (1, 2))


@pytest.mark.parametrize(("names", "started"), [(("ggml-rpc-server", "rpc-server"), 0), (("rpc-server",), 0)])
def test_a_worker_starts_the_program_that_the_image_has(names, started, tmp_path):
    for name in names:
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(compile_text(THREE).argv(1), check=True, capture_output=True, text=True, env={"PATH": path})
    assert done.stdout == f"{names[started]} -H 10.0.0.2 -p 50052\n"


def test_an_image_without_an_rpc_server_stops_the_worker():
    path = "/usr/bin:/bin"
    done = subprocess.run(compile_text(THREE).argv(1), check=False, capture_output=True, text=True, env={"PATH": path})
    assert done.returncode == 127
    assert "rpc-server" in done.stderr


def test_a_worker_takes_the_program_beside_llama_server():
    compiled = compile_text(sparkrun("llama-cpp", "/app/llama-server -m /m.gguf --host 0.0.0.0"), nodes="2")
    assert compiled.argv(1)[4:6] == ["/app/ggml-rpc-server", "/app/rpc-server"]
    assert compiled.argv(0)[-2:] == ["--rpc", "10.0.0.2:50052"]


def test_the_entrypoint_runs_before_the_worker_too():
    compiled = compile_text(llama("nodes: 2", "entrypoint: [/opt/env.sh]"))
    assert compiled.argv(0)[:2] == ["/opt/env.sh", "llama-server"]
    assert compiled.argv(1)[:2] == ["/opt/env.sh", "sh"]


def test_the_wait_ends_when_the_port_is_open():
    test = compile_text(THREE).ranks[0].steps[0].argv
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        assert subprocess.run([*test[:-2], "127.0.0.1", port], check=False).returncode == 0
    assert subprocess.run([*test[:-2], "127.0.0.1", port], check=False, capture_output=True).returncode != 0


def test_nodes_come_from_the_recipe_or_the_user():
    assert compile_text(llama()).plan.nnodes == 1
    assert compile_text(llama(), nodes="2").plan.nnodes == 2
    assert compile_text(THREE, nodes="4").plan.nnodes == 3


def test_the_workers_port_can_be_chosen():
    compiled = compile_text(llama("nodes: 2"), master_port=7000)
    assert (compiled.argv(0)[-1], compiled.argv(1)[-1]) == ("10.0.0.2:7000", "7000")


def test_parallel_sizes_are_refused():
    compiled = compile_text(llama("parallel: {tensor: 2}"))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.line) == ("SPK314", 7)
    assert "nodes:" in error.hint
    assert compile_text(llama("parallel: {tensor: 1}")).codes == []
    assert compile_text(llama(), tp=2).codes == ["SPK302"]


def test_the_rpc_flag_belongs_to_sparkc():
    compiled = compile_text(sparkrun("llama-cpp", "llama-server -m /m.gguf --host h --rpc 10.0.0.9:50052"))
    assert compiled.codes == ["SPK310"]


def test_overrides_use_the_spelling_of_llama_cpp():
    compiled = compile_text(
        sparkrun("llama-cpp", "llama-server -m /m.gguf -c 5"), max_model_len="9", port=9, host="0.0.0.0"
    )
    assert compiled.argv() == ["llama-server", "-m", "/m.gguf", "-c", "9", "--port", "9", "--host", "0.0.0.0"]


@pytest.mark.parametrize("line", ["host: 0.0.0.0", "env: {LLAMA_ARG_HOST: 0.0.0.0}"])
def test_an_api_on_loopback_is_a_warning(line):
    text = llama().replace("host: 0.0.0.0\n", "")
    assert compile_text(text).codes == ["SPK315"]
    assert compile_text(f"{text}{line}\n").codes == []


def test_a_revision_cannot_be_kept():
    compiled = compile_text(native("host: 0.0.0.0", engine="llama-cpp"))
    (warning,) = compiled.report.diagnostics
    assert (warning.code, warning.severity.value, warning.span.line) == ("SPK316", "warning", 6)
    assert "parent_model" in warning.hint


def words(rank, old, new):
    return replace(
        rank, process=Exec(tuple(word.with_value(word.value.replace(old, new)) for word in rank.process.argv))
    )


@pytest.mark.parametrize(
    ("rank", "change", "problem"),
    [
        (1, lambda rank: words(rank, "10.0.0.2", "10.0.0.9"), "they listen at 10.0.0.9:50052, 10.0.0.3:50052"),
        (2, lambda rank: words(rank, "50052", "1"), "they listen at 10.0.0.2:50052, 10.0.0.3:1"),
        (0, lambda rank: words(rank, "--rpc", "--x"), "rank 0 expects RPC servers at"),
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
    ENGINES["llama-cpp"].check_group(ranks, None, report)
    assert [found.code for found in report.diagnostics] == ["SPK320"]
    assert problem in report.diagnostics[0].message


def test_ipv6_is_refused():
    compiled = compile_text(THREE, LAB.replace("10.0.0.", "fd00::"))
    assert compiled.codes == ["SPK320", "SPK320"]
    assert "knows no IPv6" in compiled.text


def test_sixteen_workers_are_the_most():
    nodes = [f"  - {{name: n{number}, ssh: n{number}.lan, address: 10.0.1.{number}}}\n" for number in range(1, 19)]
    lab = LAB[: LAB.index("  - {name: s1")] + "".join(nodes)
    assert compile_text(llama("nodes: 17"), lab).codes == []
    refused = compile_text(llama("nodes: 18"), lab)
    assert "takes 16 RPC servers, the bundle has 17" in refused.text
