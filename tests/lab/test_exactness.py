"""What the engine gets in its container is what the recipe says, byte for byte, on rank 0 and on a worker."""

from __future__ import annotations

import json

import pytest

from lab.deployment import Deployment

pytestmark = pytest.mark.lab

HOSTILE = {
    "dollar": "$HOME ${X} $$ $(date) `date` ${X:-y}",
    "quotes": """it's "both" ''' \"\"\"""",
    "backslashes": r"\ \\ \n \x41 C:\temp" + "\\",
    "blanks": "  two  blanks\tand a tab  ",
    "unicode": "é 日本 🚀",
    "json": '{"a": [1, {"b": null}], "c": "d\\"e"}',
    "template": "{{.Node}} {% x %} #{ y }",
    "yaml": "- a: [b, c] # no comment & *x !y |",
    "number": "0x1F",
    "boolean": "no",
    "null": "null",
    "equals": "a=b=c",
    "empty": "",
    "glob": "* ? [a-z] ~ !x; a && b | c > d < e",
}
# A value that is a word of its own, after its flag, and one that only a word of the command line can have.
WORDS = [
    word for number, value in enumerate([*HOSTILE.values(), "two\nlines", "\n"]) for word in (f"--flag-{number}", value)
] + ["--flag=--leading", "-x", "--y= z", "--"]
MEETING = ["--master-addr", "192.168.177.11", "--master-port", "29501"]
RANKS = [
    ["--nnodes", "2", "--node-rank", "0", *MEETING],
    ["--nnodes", "2", "--node-rank", "1", *MEETING, "--headless"],
]
# What the image, Docker (for a reservation of GPUs, too), sh and launch.sh add.
ADDED = {"PATH", "HOSTNAME", "HOME", "NVIDIA_VISIBLE_DEVICES", "PWD", "SHLVL", "WORKSPACE_DIR", "LC_CTYPE"}
FABRIC = {
    **dict.fromkeys(
        ("GLOO_SOCKET_IFNAME", "MN_IF_NAME", "NCCL_SOCKET_IFNAME", "OMPI_MCA_btl_tcp_if_include"), "enp1s0f0np0"
    ),
    **dict.fromkeys(("TP_SOCKET_IFNAME", "UCX_NET_DEVICES"), "enp1s0f0np0"),
    "NCCL_IB_DISABLE": "0",
    "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
    "NCCL_NET": "IB",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
}


def test_argv_and_environment_arrive_as_written(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path)
    # A login user's own variables have no say in it.
    for node in demo.nodes:
        node.set_login(bashrc="export X=leak VLLM_HOST_IP=leak COMPOSE_FILE=/leak DOCKER_HOST=tcp://leak\n")
    env = {f"V_{name}": value for name, value in HOSTILE.items()}
    demo.old = demo.compile(env, f"args: {json.dumps(WORDS, ensure_ascii=False)}\n")

    done = demo.deploy(env={"X": "leak", "V_empty": "leak"})

    assert done.returncode == 0, done.stderr
    demo.check_serving(demo.old)
    for node, rank in zip(demo.nodes, RANKS, strict=True):
        seen = json.loads(node.run(["docker", "exec", "demo", "cat", "/run/stub/invocation.json"]).stdout)
        head = ["serve", "lab/tiny", "--port", "8000", "--tensor-parallel-size", "2"]
        assert seen["argv"] == [*head, *WORDS, *rank]
        written = {name: value for name, value in seen["environ"].items() if name not in ADDED}
        assert written == {**FABRIC, "VLLM_HOST_IP": node.address("rail-a"), **env}
