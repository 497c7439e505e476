"""TensorRT-LLM on one node, and on several under mpirun."""

import subprocess
from dataclasses import replace

import pytest

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.planning.model import Exec
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, REVISION, compile_text, native, sparkrun

KEYS = "mounts: [{source: ~/.ssh, target: /tmp/.ssh, read_only: true}]"
START = f"trtllm-serve org/model --revision {REVISION} --host 0.0.0.0"
SAME = LAB.replace(", interface: enp1s0f1np1, hcas: [rocep1s0f1, roceP2p1s0f1]", "")


def trtllm(*lines):
    return native("host: 0.0.0.0", *lines, engine="trtllm")


TWO = trtllm("parallel: {tensor: 2}", "secrets: [HF_TOKEN]", KEYS)


def test_one_node_serves_without_mpirun():
    compiled = compile_text(trtllm("port: 8355", "args: [--max_batch_size, '4']"))
    assert compiled.argv() == f"{START} --port 8355 --max_batch_size 4".split()
    (rank,) = compiled.ranks
    assert (rank.wave, rank.steps, rank.probe.url) == (0, (), "http://127.0.0.1:8355/health")
    assert not any(key.startswith("OMPI_MCA_plm") for key in compiled.env())
    assert compiled.codes == []


@pytest.mark.parametrize("nodes", [2, 4])
def test_mpirun_starts_all_parts_from_rank_0(nodes):
    compiled = compile_text(trtllm(f"parallel: {{tensor: {nodes}}}", "secrets: [HF_TOKEN]", KEYS), SAME)
    assert compiled.argv() == [
        *["mpirun", "-x", "HF_TOKEN", "trtllm-llmapi-launch"],
        *f"{START} --tp_size {nodes}".split(),
    ]
    head, *workers = compiled.ranks
    assert [step.title for step in head.steps] == [
        "prepare ssh with the keys in /tmp/.ssh",
        "write the MPI hostfile",
        *(f"wait for ssh at 10.0.0.{number}:2233" for number in range(2, nodes + 1)),
    ]
    assert head.steps[1].argv[4:] == tuple(f"10.0.0.{number}" for number in range(1, nodes + 1))
    assert [step.deadline for step in head.steps] == [None, None, *[600] * (nodes - 1)]
    assert (head.wave, {worker.wave for worker in workers}) == (1, {0})
    assert [(port.name, port.number) for port in head.ports] == [("api", 8000)]
    assert (head.probe.url, head.deep_probe) == ("http://127.0.0.1:8000/health", "/v1/completions")


def test_workers_run_an_ssh_daemon_on_the_fabric():
    worker = compile_text(TWO).ranks[1]
    argv = [word.value for word in worker.process.argv]
    assert argv[:3] == ["/usr/sbin/sshd", "-D", "-e"]
    assert argv[-4:] == ["-p", "2233", "-o", "ListenAddress=10.0.0.2"]
    assert {"PasswordAuthentication=no", "PermitRootLogin=prohibit-password", "PermitUserEnvironment=yes"} < set(argv)
    assert [step.title for step in worker.steps] == ["prepare ssh with the keys in /tmp/.ssh"]
    assert (worker.probe, worker.deep_probe) == (None, None)
    assert [(port.name, port.number) for port in worker.ports] == [("ssh", 2233)]


def test_every_rank_has_open_mpis_environment():
    compiled = compile_text(TWO, master_port=2200)
    for rank in (0, 1):
        env = compiled.env(rank)
        assert env["OMPI_MCA_orte_default_hostfile"] == "/etc/openmpi-hostfile"
        assert (env["OMPI_MCA_rmaps_ppr_n_pernode"], env["OMPI_ALLOW_RUN_AS_ROOT"]) == ("1", "1")
        assert env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
        assert env["OMPI_MCA_plm_rsh_args"].startswith("-p 2200 -l root ")


def test_interfaces_of_other_names_are_told_to_mpirun():
    assert compile_text(TWO).argv()[:4] == ["mpirun", "--mca", "btl_tcp_if_include", "enp1s0f0np0,enp1s0f1np1"]


def test_secrets_reach_no_file(tmp_path):
    step = compile_text(TWO).ranks[1].steps[0]
    assert step.argv[3:] == ("/tmp/.ssh", "-u", "HF_TOKEN")
    shown = subprocess.run(
        ["sh", "-c", 'env "$@"', *step.argv[3:]], env={"HF_TOKEN": "t", "A": "b", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True, cwd=tmp_path,
    ).stdout  # fmt: skip
    assert "A=b" in shown.splitlines()
    assert "HF_TOKEN" not in shown


@pytest.mark.parametrize("step", [0, 1, 2])
def test_steps_are_valid_shell(step):
    words = compile_text(TWO).ranks[0].steps[step].argv
    code = words[words.index("-c") + 1]
    assert subprocess.run(["sh", "-n", "-c", code], check=False).returncode == 0


def test_the_hostfile_has_a_line_per_host():
    step = compile_text(TWO).ranks[0].steps[1]
    code = step.argv[2].replace(">/etc/openmpi-hostfile", "")
    done = subprocess.run(["sh", "-c", code, *step.argv[3:]], capture_output=True, text=True, check=True)
    assert done.stdout == "10.0.0.1\n10.0.0.2\n"


def test_what_stands_before_the_engine_stays_there():
    recipe = sparkrun("trtllm", "/opt/env.sh trtllm-serve org/m --host h --tp_size 2")
    assert compile_text(recipe, volumes=("~/.ssh:/tmp/.ssh:ro",)).argv()[:2] == ["/opt/env.sh", "mpirun"]
    wrapped = compile_text(TWO + "entrypoint: [/opt/env.sh]\n", SAME).argv()
    assert wrapped[:6] == ["/opt/env.sh", "mpirun", "-x", "HF_TOKEN", "trtllm-llmapi-launch", "trtllm-serve"]


@pytest.mark.parametrize(
    ("args", "nodes"),
    [
        ("--tp_size 2 --pp_size 2", 4),
        ("--tensor_parallel_size=2 --pipeline_parallel_size 2", 4),
        ("--tp_size 2 --cp_size 2", 4),
        ("--tp_size 2 --ep_size 2", 2),
    ],
)
def test_the_world_is_tensor_times_pipeline_times_context(args, nodes):
    compiled = compile_text(sparkrun("trtllm", f"trtllm-serve org/m --host h {args}"), volumes=("~/.ssh:/tmp/.ssh:ro",))
    assert (compiled.plan.engine, compiled.plan.nnodes) == ("trtllm", nodes)
    shown = compile_text(sparkrun("trtllm", f"trtllm-serve org/m --host h {args}"), nodes="1")
    assert ("× cp=2" in shown.text) == ("cp_size" in args)


def test_overrides_keep_the_underscores():
    compiled = compile_text(
        sparkrun("trtllm", "trtllm-serve org/m --host h --tp_size 1"), port=9, max_model_len="8", gpu_mem="0.5"
    )
    assert compiled.argv()[4:] == [
        *["--tp_size", "1", "--port", "9", "--kv_cache_free_gpu_memory_fraction", "0.5", "--max_seq_len", "8"]
    ]


@pytest.mark.parametrize("before", ["mpirun -n 2", "/usr/bin/mpirun -x HF_TOKEN trtllm-llmapi-launch"])
def test_a_launcher_of_the_recipes_own_is_refused(before):
    compiled = compile_text(sparkrun("trtllm", f"{before} trtllm-serve org/m --host h"))
    assert set(compiled.codes) == {"SPK310"}
    assert compiled.report.diagnostics[0].message.startswith(before.split()[0])


@pytest.mark.parametrize(("line", "code"), [("served_model_name: [a]", "SPK316"), ("parallel: {data: 2}", "SPK314")])
def test_fields_that_trtllm_serve_does_not_take(line, code):
    compiled = compile_text(trtllm(line))
    (error,) = compiled.report.diagnostics
    assert (error.code, error.span.line) == (code, 8)


def test_an_api_on_loopback_is_a_warning():
    assert compile_text(native(engine="trtllm")).codes == ["SPK315"]


def test_ranks_without_keys_do_not_meet():
    compiled = compile_text(trtllm("parallel: {tensor: 2}"))
    assert compiled.codes == ["SPK320", "SPK320"]
    assert "{source: ~/.ssh, target: /tmp/.ssh, read_only: true}" in compiled.text


def listens(rank, address):
    argv = tuple(
        word.with_value(f"ListenAddress={address}") if word.value.startswith("ListenAddress=") else word
        for word in rank.process.argv
    )
    return replace(rank, process=Exec(argv))


@pytest.mark.parametrize(
    ("rank", "change", "problem"),
    [
        (1, lambda rank: listens(rank, "10.0.0.9"), "the hostfile has 10.0.0.1, 10.0.0.2, ssh listens at 10.0.0.9"),
        (0, lambda rank: replace(rank, steps=()), "the hostfile has no host"),
        (0, lambda rank: replace(rank, process=Exec(rank.process.argv[5:])), "rank 0 does not start mpirun"),
        (
            1,
            lambda rank: replace(rank, container=replace(rank.container, image=Traced("x", from_flag("-t")))),
            "the image differs between ranks",
        ),
    ],
)
def test_the_group_check_finds_each_mistake(rank, change, problem):
    ranks = list(compile_text(TWO).ranks)
    ranks[rank] = change(ranks[rank])
    report = Report()
    ENGINES["trtllm"].check_group(ranks, None, report)
    assert [found.code for found in report.diagnostics] == ["SPK320"]
    assert problem in report.diagnostics[0].message
