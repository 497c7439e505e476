"""SGLang on one node, and on several."""

from dataclasses import replace

import pytest

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.planning.model import Exec
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, REVISION, compile_text, native, sparkrun

HOST = "host: 0.0.0.0"
V6 = LAB.replace("10.0.0.", "fd00::")
START = f"python3 -m sglang.launch_server --model-path org/model --revision {REVISION} --host 0.0.0.0"


def sglang(*lines):
    return native(HOST, *lines, engine="sglang")


TWO = sglang("parallel: {tensor: 2}")


def test_one_node_gets_no_rank_flags():
    compiled = compile_text(sglang("served_model_name: [name]", "port: 8001", "args: [--trust-remote-code]"))
    name = START.replace("--revision", "--served-model-name name --revision")
    assert compiled.argv() == f"{name} --port 8001 --trust-remote-code".split()
    (rank,) = compiled.ranks
    assert (rank.wave, rank.steps) == (0, ())
    assert [(port.name, port.number) for port in rank.ports] == [("api", 8001)]
    assert compiled.env()["SGLANG_HOST_IP"] == "127.0.0.1"
    assert compiled.codes == []


@pytest.mark.parametrize("nodes", [2, 4])
def test_ranks_differ_in_their_number_alone(nodes):
    compiled = compile_text(sglang(f"parallel: {{tensor: {nodes}}}"))
    for rank in range(nodes):
        flags = f"--tp-size {nodes} --dist-init-addr 10.0.0.1:29501 --nnodes {nodes} --node-rank {rank}"
        assert compiled.argv(rank) == f"{START} {flags}".split()
        assert compiled.env(rank)["SGLANG_HOST_IP"] == f"10.0.0.{rank + 1}"
    address = next(word for word in compiled.ranks[1].process.argv if word.value == "10.0.0.1:29501")
    assert address.origin.text == "inventory.yaml: nodes[0].address"


def test_rank_0_serves_and_starts_last():
    head, worker = compile_text(TWO).ranks
    assert (head.wave, worker.wave) == (1, 0)
    assert (head.probe.url, head.deep_probe) == ("http://127.0.0.1:30000/health", "/v1/completions")
    assert (worker.probe, worker.deep_probe) == (None, None)
    assert [(port.name, port.number) for port in head.ports] == [("api", 30000), ("master", 29501)]
    assert [(port.name, port.number) for port in worker.ports] == [("status", 30000)]
    assert compile_text(TWO).plan.api_port.value == 30000


def test_the_coordination_port_can_be_chosen():
    assert "10.0.0.1:20000" in compile_text(TWO, master_port=20000).argv(1)
    clash = compile_text(TWO, master_port=30000)
    assert clash.codes == ["SPK321"]


def test_ipv6_addresses():
    compiled = compile_text(TWO, V6)
    assert "[fd00::1]:29501" in compiled.argv(1)
    assert compiled.env(1)["SGLANG_HOST_IP"] == "fd00::2"


@pytest.mark.parametrize(
    ("command", "sizes"),
    [
        ("--tp-size 2 --pp-size 2", (2, 2, 1)),
        ("--tp 4", (4, 1, 1)),
        ("--tensor-parallel-size=2 --pipeline-parallel-size=2", (2, 2, 1)),
        ("--tp 4 --dp 4 --enable-dp-attention", (4, 1, 1)),
        ("--tp 4 --dp-size 1 --attn-dp-size 2", (4, 1, 1)),
        ("--tp 4 --ep-size 4", (4, 1, 1)),
    ],
)
def test_the_world_is_tensor_times_pipeline(command, sizes):
    compiled = compile_text(sparkrun("sglang", f"sglang serve --model-path org/m --host 0.0.0.0 {command}"))
    assert (compiled.plan.engine, compiled.plan.nnodes) == ("sglang", 4)
    world = ENGINES["sglang"].world(compiled.plan.recipe, compiled.ranks[0].process.argv, Report())
    assert (world.tensor.value, world.pipeline.value, world.data.value) == sizes


def test_attention_over_data_needs_the_next_ports_too():
    compiled = compile_text(
        sparkrun("sglang", "sglang serve --model-path org/m --host 0.0.0.0 --tp 2 --attn-dp-size 2")
    )
    assert [port.number for port in compiled.ranks[0].ports] == [30000, *range(29501, 29508)]


def test_replicas_do_not_span_nodes():
    compiled = compile_text(sglang("parallel: {data: 2}"))
    (error,) = (found for found in compiled.report.diagnostics if found.severity.value == "error")
    assert (error.code, "--attn-dp-size" in error.message) == ("SPK320", True)


@pytest.mark.parametrize("nodes", ["1", "2"])
@pytest.mark.parametrize("flag", ["--dist-init-addr x:1", "--nccl-init-addr=x:1", "--nnodes 2", "--node-rank=0"])
def test_rank_flags_belong_to_sparkc(flag, nodes):
    compiled = compile_text(sparkrun("sglang", f"sglang serve --model-path m --host h --tp-size {nodes} {flag}"))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.line) == ("SPK310", 7)
    assert error.message.startswith(flag.split("=")[0].split()[0])


def test_overrides_use_the_spelling_of_sglang():
    command = "sglang serve --model-path org/m --tensor-parallel-size 1 --context-length 5 --mem-fraction-static 0.5"
    compiled = compile_text(
        sparkrun("sglang", command), tp=2, max_model_len="9", gpu_mem="0.7", port=9000, host="0.0.0.0"
    )
    assert " ".join(compiled.argv()).startswith(
        "sglang serve --model-path org/m --tensor-parallel-size 2 --context-length 9 --mem-fraction-static 0.7"
        " --port 9000 --host 0.0.0.0 --dist-init-addr"
    )


def test_an_api_on_loopback_is_a_warning():
    compiled = compile_text(native(engine="sglang"))
    (warning,) = compiled.report.diagnostics
    assert (warning.code, warning.span.line, "--host" in compiled.argv()) == ("SPK315", 3, False)
    assert compiled.plan.endpoints[0].local
    assert compile_text(native("host: 127.0.0.1", engine="sglang")).codes == ["SPK315"]
    assert compile_text(native("host: 0.0.0.0", engine="sglang")).codes == []


def test_only_one_name():
    compiled = compile_text(sglang("served_model_name: [a, b]"))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.line, error.span.column) == ("SPK316", 8, 24)


def changed(rank, *, last="", env=None, image=None):
    words = tuple(Traced(word, from_flag(word)) for word in last.split())
    made = replace(rank, process=Exec((*rank.process.argv, *words)))
    if env is not None:
        made = replace(made, environment={**rank.environment, "SGLANG_HOST_IP": Traced(env, from_flag("-e"))})
    if image is not None:
        made = replace(made, container=replace(rank.container, image=Traced(image, from_flag("--image"))))
    return made


@pytest.mark.parametrize(
    ("rank", "change", "problem"),
    [
        (1, {"image": "other"}, "the image differs between ranks"),
        (1, {"last": "--model-path org/b"}, "the model differs between ranks: org/model, org/b"),
        (1, {"last": "--node-rank 0"}, "--node-rank does not count from 0 without gaps"),
        (1, {"last": "--nnodes 3"}, "--nnodes differs between ranks: 2, 3"),
        (1, {"last": "--tp-size 4"}, "--tp-size differs between ranks: 2, 4"),
        (1, {"last": "--dist-init-addr 10.0.0.1:1"}, "--dist-init-addr differs between ranks"),
        (1, {"env": "10.0.0.1"}, "SGLANG_HOST_IP must be each node's own address"),
        (1, {"env": "127.0.0.1"}, "SGLANG_HOST_IP must be each node's own address"),
        (0, {"env": "10.0.0.7"}, "--dist-init-addr is not the address of rank 0 (10.0.0.7)"),
    ],
)
def test_the_group_check_finds_each_mistake(rank, change, problem):
    ranks = list(compile_text(TWO).ranks)
    ranks[rank] = changed(ranks[rank], **change)
    report = Report()
    ENGINES["sglang"].check_group(ranks, None, report)
    assert [found.code for found in report.diagnostics] == ["SPK320"]
    assert problem in report.diagnostics[0].message


@pytest.mark.parametrize("inventory", [LAB, V6])
def test_a_good_group_passes(inventory):
    report = Report()
    ENGINES["sglang"].check_group(compile_text(TWO, inventory).ranks, None, report)
    assert report.diagnostics == ()


def test_a_script_gets_the_rank_flags_at_its_engine_command():
    compiled = compile_text(sparkrun("sglang", "sleep 1\nsglang serve --model-path org/m --host h --tp 2 | tee log"))
    assert compiled.ranks[1].process.text.value.rstrip().endswith("--node-rank \\\n    1 | tee log")


SM121 = f"""\
engine = "sglang"
docker_image = "lmsysorg/sglang:v0.5.9@sha256:{"0" * 64}"
model = "/cache/models--org--m/snapshots/{REVISION}"
parent_model = "org/m"
port = 30001
required_nodes = 2
tensor_parallel_size = 2
pipeline_parallel_size = 1
args = ["--host 0.0.0.0", "--mem-fraction-static 0.8", '''--json-model-override-args '{{"a": 1}}'''']
"""


@pytest.mark.parametrize(
    ("more", "program"),
    [
        ("", "python3 -m sglang.launch_server"),
        ('entrypoint = ["python3", "-m", "sglang.launch_server"]\n', "python3 -m sglang.launch_server"),
        ('entrypoint = ["sglang", "serve"]\n', "sglang serve"),
        ('entrypoint = ["numactl", "-N", "0"]\n', "numactl -N 0 python3 -m sglang.launch_server"),
    ],
)
def test_a_recipe_of_sm121_gets_sglangs_flags(more, program):
    compiled = compile_text(SM121 + more, name="two.toml")

    assert compiled.codes == []
    for rank in range(2):
        assert compiled.argv(rank) == [
            *program.split(),
            *f"--model-path /cache/models--org--m/snapshots/{REVISION} --port 30001 --tp-size 2 --pp-size 1".split(),
            *("--host", "0.0.0.0", "--mem-fraction-static", "0.8", "--json-model-override-args"),
            '{"a": 1}',
            *f"--dist-init-addr 10.0.0.1:29501 --nnodes 2 --node-rank {rank}".split(),
        ]


def test_a_backend_of_vllm_in_a_recipe_of_sm121_is_left_out():
    compiled = compile_text(f'{SM121}distributed_backend = "mp"\n', name="two.toml")

    assert compiled.codes == ["SPK129"]
    assert not any("backend" in word for word in compiled.argv())
