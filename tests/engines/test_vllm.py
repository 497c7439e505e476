"""vLLM on one node, and on several in its native mode."""

from dataclasses import replace

import pytest

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.planning.model import Exec
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, REVISION, compile_text, native, v1

TWO = native("parallel: {tensor: 2}")
V6 = LAB.replace("10.0.0.", "fd00::")


def flag_words(text):
    return tuple(Traced(word, from_flag(word)) for word in text.split())


def test_one_node_gets_no_rank_flags():
    compiled = compile_text(native("port: 8001", "args: [--enforce-eager]"))
    assert compiled.argv() == f"vllm serve org/model --revision {REVISION} --port 8001 --enforce-eager".split()
    (rank,) = compiled.ranks
    assert (rank.wave, rank.steps, [port.name for port in rank.ports]) == (0, (), ["api"])


def test_every_rank_has_its_own_flags():
    compiled = compile_text(TWO)
    common = f"vllm serve org/model --revision {REVISION} --tensor-parallel-size 2 --nnodes 2"
    assert compiled.argv(0) == f"{common} --node-rank 0 --master-addr 10.0.0.1 --master-port 29501".split()
    assert compiled.argv(1) == f"{common} --node-rank 1 --master-addr 10.0.0.1 --master-port 29501 --headless".split()
    head, worker = compiled.ranks
    assert [(port.name, port.number) for port in head.ports] == [("api", 8000), ("master", 29501)]
    assert (worker.ports, worker.probe, worker.deep_probe) == ((), None, None)
    assert (head.wave, worker.wave) == (1, 0)
    address = next(word for word in worker.process.argv if word.value == "10.0.0.1")
    assert address.origin.text == "inventory.yaml: nodes[0].address"


def test_fields_do_not_repeat_what_the_arguments_say():
    recipe = native(
        "served_model_name: [a, b c]",
        "host: '::'",
        "port: 1",
        "parallel: {tensor: 1, pipeline: 1, data: 1}",
        "args: [--port=2, -tp, '1', --served_model_name, z]",
    )
    own = compile_text(recipe).argv()
    expected = f"vllm serve org/model --revision {REVISION} --host :: --pipeline-parallel-size 1 --data-parallel-size 1"
    assert own == [*expected.split(), "--port=2", "-tp", "1", "--served_model_name", "z"]
    named = native("served_model_name: [a, b c]")
    assert compile_text(named).argv()[3:6] == ["--served-model-name", "a", "b c"]


def test_a_model_in_the_container_has_no_revision_flag():
    assert "--revision" not in compile_text(native().replace("org/model", "/models/m")).argv()


@pytest.mark.parametrize(
    ("entrypoint", "start"),
    [
        ("[/opt/env.sh]", "/opt/env.sh vllm serve org/model"),
        ("[python3, /opt/toolchain.py, serve]", "python3 /opt/toolchain.py serve org/model"),
        ("null", "vllm serve org/model"),
        ("[]", "vllm serve org/model"),
        ("keep", "vllm serve org/model"),
    ],
)
def test_an_entrypoint_runs_first_or_replaces_the_program(entrypoint, start):
    compiled = compile_text(native(f"entrypoint: {entrypoint}"))
    assert " ".join(compiled.argv()).startswith(start)
    assert compiled.ranks[0].container.keep_entrypoint.value == (entrypoint == "keep")


@pytest.mark.parametrize(
    "flag", ["--nnodes=2", "-n 2", "--node_rank 0", "-r 0", "--master-addr x", "--master_port=1", "--headless"]
)
@pytest.mark.parametrize("nodes", ["1", "2"])
def test_rank_flags_belong_to_sparkc(flag, nodes):
    compiled = compile_text(v1(f"vllm serve m -tp {nodes} {flag}"))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.column) == ("SPK310", 22)
    assert error.message.startswith(flag.split("=")[0].split()[0])


def test_flags_of_a_program_before_vllm_are_its_own():
    compiled = compile_text(v1("nice -n 5 chrt -r 1 vllm serve org/m -tp 2"))
    assert compiled.argv(1)[:8] == ["nice", "-n", "5", "chrt", "-r", "1", "vllm", "serve"]
    assert compiled.argv(1)[-9:] == [
        "--nnodes",
        "2",
        "--node-rank",
        "1",
        "--master-addr",
        "10.0.0.1",
        "--master-port",
        "29501",
        "--headless",
    ]


@pytest.mark.parametrize("spelling", ["--distributed-executor-backend ray", "--distributed_executor_backend=mp"])
@pytest.mark.parametrize("size", ["1", "2"])
def test_the_v1_dialect_loses_its_executor_backend(spelling, size):
    compiled = compile_text(v1(f"vllm serve org/m -tp {size} {spelling} --enforce-eager"))
    assert compiled.argv()[3:6] == ["-tp", size, "--enforce-eager"]
    assert compiled.codes == []


@pytest.mark.parametrize(
    ("size", "backend", "kept"),
    [("2", "mp", True), ("1", "mp", True), ("1", "ray", False), ("2", "external_launcher", True)],
)
def test_other_dialects_keep_the_backend_that_they_state(size, backend, kept):
    compiled = compile_text(native(f"args: [-tp, '{size}', --distributed-executor-backend, {backend}]"))
    assert (backend in compiled.argv()) == kept


def test_the_native_mode_does_not_run_on_ray():
    compiled = compile_text(native("args: [-tp, '2', --distributed-executor-backend=ray]"))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.line) == ("SPK311", 7)
    assert "--ray" in error.hint


@pytest.mark.parametrize("size", ["two", "0", "-1", "1.5", "'$TP'", "9" * 5000, "''"])
def test_a_parallel_size_that_is_no_number(size):
    compiled = compile_text(v1(f"vllm serve m -tp {size}"))
    assert "SPK312" in compiled.codes
    assert compiled.plan is None


@pytest.mark.parametrize(
    ("lines", "url", "start"),
    [
        ((), "http://127.0.0.1:8000/health", 1800),
        (("host: 0.0.0.0", "port: 9"), "http://127.0.0.1:9/health", 1800),
        (("host: '::'",), "http://127.0.0.1:8000/health", 1800),
        (("host: 10.0.0.9",), "http://10.0.0.9:8000/health", 1800),
        (("host: fd00::9",), "http://[fd00::9]:8000/health", 1800),
        (("args: [--host, '[fd00::9]', --port=7]",), "http://[fd00::9]:7/health", 1800),
        (("host: localhost",), "http://localhost:8000/health", 1800),
        (("health: {path: /v1/models, port: 5, start_period: 90s}",), "http://127.0.0.1:5/v1/models", 90),
    ],
)
def test_the_probe_goes_where_the_server_listens(lines, url, start):
    probe = compile_text(native(*lines)).ranks[0].probe
    assert (probe.url, probe.start_period) == (url, start)

    assert (probe.interval, probe.timeout, probe.retries) == (10, 5, 3)
    assert (probe.test[:3], probe.test[-1]) == (("CMD", "python3", "-c"), url)
    compile(probe.test[3], "probe", "exec")


def test_the_recipe_says_how_often_the_probe_runs():
    assert compile_text(native("health: {interval: 1s}")).ranks[0].probe.interval == 1


def test_ipv6_addresses():
    compiled = compile_text(TWO, V6)
    assert compiled.argv(1)[-4:] == ["fd00::1", "--master-port", "29501", "--headless"]
    assert compiled.env(1)["VLLM_HOST_IP"] == "fd00::2"


def test_a_script_gets_the_rank_flags_at_its_engine_command():
    compiled = compile_text(v1("sleep 1\nvllm serve org/m -tp 2 \\\n  --x 'a b' | tee log # end"))
    text = compiled.ranks[1].process.text.value
    assert "--node-rank \\\n    1" in text
    assert text.rstrip().endswith("--headless | tee log # end")
    assert compiled.argv(1)[-1] == "--headless"


def changed(rank, *, before=None, after="", env=None, image=None, last=""):
    """Return a rank with one word, variable or the image replaced, or words added."""
    argv = tuple(word.with_value(after) if word.value == before else word for word in rank.process.argv)
    made = replace(rank, process=Exec((*(word for word in argv if word.value), *flag_words(last))))
    if env is not None:
        made = replace(made, environment={**rank.environment, "VLLM_HOST_IP": Traced(env, from_flag("-e"))})
    if image is not None:
        made = replace(made, container=replace(rank.container, image=Traced(image, from_flag("--image"))))
    return made


@pytest.mark.parametrize(
    ("rank", "change", "problem"),
    [
        (1, {"image": "other"}, "the image differs between ranks"),
        (1, {"before": "org/model", "after": "org/other"}, "the model differs between ranks: org/model, org/other"),
        (1, {"last": "--port 9"}, "--port differs between ranks: none, 9"),
        (1, {"last": "--master-port 9"}, "--master-port differs between ranks: 29501, 9"),
        (1, {"last": "--master-addr 10.0.0.2"}, "--master-addr differs between ranks: 10.0.0.1, 10.0.0.2"),
        (1, {"last": "--nnodes 3"}, "--nnodes differs between ranks: 2, 3"),
        (1, {"last": "--tensor-parallel-size 4"}, "--tensor-parallel-size differs between ranks: 2, 4"),
        (1, {"last": "--node-rank 0"}, "--node-rank does not count from 0 without gaps"),
        (1, {"last": "--node-rank 2"}, "--node-rank does not count from 0 without gaps"),
        (1, {"before": "--headless"}, "--headless must stand on every rank but rank 0"),
        (0, {"last": "--headless"}, "--headless must stand on every rank but rank 0"),
        (1, {"env": "10.0.0.1"}, "VLLM_HOST_IP must be each node's own address, got 10.0.0.1, 10.0.0.1"),
        (1, {"env": "127.0.1.1"}, "VLLM_HOST_IP must be each node's own address, got 10.0.0.1, 127.0.1.1"),
        (1, {"env": "::1"}, "VLLM_HOST_IP must be each node's own address, got 10.0.0.1, ::1"),
        (1, {"env": ""}, "VLLM_HOST_IP must be each node's own address, got 10.0.0.1, none"),
        (0, {"env": "10.0.0.7"}, "--master-addr is not the address of rank 0 (10.0.0.7)"),
    ],
)
def test_the_group_check_finds_each_mistake(rank, change, problem):
    ranks = list(compile_text(TWO).ranks)
    ranks[rank] = changed(ranks[rank], **change)
    report = Report()
    ENGINES["vllm"].check_group(ranks, None, report)
    found = [(diagnostic.code, diagnostic.message) for diagnostic in report.diagnostics]
    assert [code for code, _ in found] == ["SPK320"]
    assert found[0][1].startswith(f"the ranks would not find each other: {problem}")


@pytest.mark.parametrize("keep", [slice(0, 2), slice(1, 3)])
def test_the_group_check_finds_a_missing_rank(keep):
    ranks = compile_text(native("parallel: {tensor: 3}")).ranks[keep]
    report = Report()
    ENGINES["vllm"].check_group(ranks, None, report)
    assert any("--nnodes is not the number of ranks (2)" in found.message for found in report.diagnostics)


def test_the_group_check_finds_two_ranks_swapped():
    ranks = compile_text(TWO).ranks
    report = Report()
    ENGINES["vllm"].check_group(ranks[::-1], None, report)
    assert len(report.diagnostics) == 3


def test_a_good_group_and_a_single_rank_pass():
    for recipe in (TWO, native(), native("parallel: {tensor: 2, data: 2}")):
        report = Report()
        ENGINES["vllm"].check_group(compile_text(recipe).ranks, None, report)
        assert report.diagnostics == ()
