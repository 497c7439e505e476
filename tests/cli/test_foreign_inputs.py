"""Files of other tools on the command line: sparkrun recipes with includes, launch scripts, .env inventories."""

from __future__ import annotations

import json

import pytest

SPARKRUN = """\
recipe_version: "2"
model: org/m
runtime: vllm
container: img:1
defaults: {port: 8000, tensor_parallel: 2}
command: vllm serve {model} --port {port} -tp {tensor_parallel}
"""
ENV_FILE = """\
CLUSTER_NODES=10.0.0.1,10.0.0.2,10.0.0.3
LOCAL_IP=10.0.0.2
ETH_IF=enp1s0f0np0
IB_IF=rocep1s0f0,roceP2p1s0f0
CONTAINER_NCCL_DEBUG=WARN
"""


def argv(text: bytes) -> list[str]:
    lines = text.decode().split("\nexec \\\n")[1].split("\n")
    return [line.strip().removesuffix(" \\").strip("'") for line in lines if line.strip()]


def test_a_sparkrun_recipe_compiles_and_takes_overrides(project):
    project.write("recipes/two.yaml", SPARKRUN)

    outcome = project.run("compile", "two", "--port", "9000")

    assert outcome.code == 0
    files = project.files()
    assert argv(files["two/rank-1-spark-b/launch.sh"]) == [
        "vllm", "serve", "org/m", "--port", "9000", "-tp", "2", "--nnodes", "2", "--node-rank", "1",
        "--master-addr", "10.0.0.1", "--master-port", "29501", "--headless",
    ]  # fmt: skip
    assert project.run("compile", "--check").code == 0


def test_a_recipe_is_compiled_with_the_file_that_it_includes(project):
    project.write("recipes/base.yaml", SPARKRUN)
    outer = project.write("recipes/outer.yaml", "include: base\nmodel: org/other\n")

    assert project.run("compile", "outer").code == 0
    assert "org/other" in argv(project.files()["outer/rank-0-spark-a/launch.sh"])

    project.write("recipes/base.yaml", SPARKRUN.replace("8000", "8001"))
    assert project.run("compile", "--check").code == 1
    outer.write_text("include: nothing\n")
    outcome = project.run("compile", "outer")
    assert outcome.code == 1
    assert "recipes/outer.yaml:1:10: error[SPK137]" in outcome.err


def test_an_included_file_changes_the_hash_of_a_recipe_outside(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "outer.yaml").write_text("include: base\n")
    hashes = []
    for port in ("8000", "8001"):
        (folder / "base.yaml").write_text(SPARKRUN.replace("8000", port))
        assert project.run("compile", str(folder / "outer.yaml")).code == 0
        hashes.append(json.loads(project.files()["outer/bundle.json"])["recipe"]["sha256"])
    assert len(set(hashes)) == 2


def test_a_launch_script_gets_rank_flags_at_its_engine(project):
    project.write("recipes/run.sh", "#!/bin/bash\nexport A=1\nvllm serve m -tp 2 | cat  # the end\n")

    outcome = project.run("compile", "recipes/run.sh", "--image", f"img@sha256:{'a' * 64}")

    assert outcome.code == 0
    text = b"".join(
        content for name, content in project.files().items() if name.startswith("run/rank-1") and b"vllm" in content
    ).decode()
    assert "export A=1" in text
    assert text.index("--node-rank") < text.index("--headless") < text.index("| cat  # the end")


def test_an_env_file_is_an_inventory_when_it_is_named(project):
    project.write("lab.env", ENV_FILE)

    outcome = project.run("compile", "tiny", "--inventory", "lab.env", "--user", "ray")

    assert (outcome.code, outcome.err) == (0, "")
    names = {name.split("/")[1] for name in project.files() if "/rank-" in name}
    assert names == {"rank-0-10.0.0.2", "rank-1-10.0.0.1"}
    (env,) = [text for name, text in project.files().items() if "rank-0" in name and name.endswith("rank.env")]
    assert b"NCCL_DEBUG=WARN\n" in env
    assert b"NCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0\n" in env
    assert project.run("compile", "--check").code == 0


@pytest.mark.parametrize("name", [".env", "lab.env"])
def test_an_env_file_needs_the_login_user(project, name):
    project.write(name, ENV_FILE)

    outcome = project.run("compile", "tiny", "--inventory", name)

    assert outcome.code == 1
    assert f"{name}:1:15: error[SPK205]" in outcome.err


def test_an_env_file_is_not_taken_unasked(empty):
    empty.write(".env", ENV_FILE)
    empty.write("recipes/two.yaml", SPARKRUN)

    outcome = empty.run("compile", "recipes/two.yaml")

    assert outcome.code == 0
    assert "SPK704" in outcome.err
    assert not any("10.0.0" in name for name in empty.files())


@pytest.mark.parametrize("flags", [("--user", "x"), ("--eth-if", "a"), ("--ib-if", "b")])
def test_options_for_addresses_are_refused_where_the_inventory_says_it(project, flags):
    project.write("lab.env", ENV_FILE)

    assert "SPK703" in project.run("compile", "tiny", *flags).err
    if flags[0] != "--user":
        outcome = project.run("compile", "tiny", "--inventory", "lab.env", "--user", "x", *flags)
        assert "SPK703" in outcome.err
