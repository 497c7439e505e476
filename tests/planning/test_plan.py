"""The plan as a whole: what it says about itself, and what it costs."""

import gc
import time

import pytest

from sparkc.diagnostics import Report
from sparkc.planning.group import Inputs
from sparkc.planning.overrides import Overrides
from sparkc.planning.plan import make_plan
from support.compile_text import IMAGE, LAB, compile_text, native, v1


@pytest.mark.parametrize(
    ("ssh", "url"),
    [
        ("s1.lan", "http://s1.lan:8000"),
        ("bob@s1.lan:2222", "http://s1.lan:8000"),
        ("10.1.1.1", "http://10.1.1.1:8000"),
        ("'[fd00::2]:22'", "http://[fd00::2]:8000"),
        ("'fd00::2'", "http://[fd00::2]:8000"),
    ],
)
def test_the_client_url_is_the_ssh_host(ssh, url):
    user = "bob" if "bob" in ssh else "spark"
    assert (
        compile_text(native(), LAB.replace("ssh: s1.lan", f"ssh: {ssh}").replace("spark,", f"{user},")).plan.client_url
        == url
    )


def test_the_port_says_where_it_comes_from():
    assert compile_text(native()).plan.api_port.origin.kind == "default"
    assert compile_text(native("port: 9")).plan.api_port.origin.text == "demo.yaml: port"
    assert compile_text(native("port: 9"), port=8).plan.api_port.origin.text == "--port 8"
    assert compile_text(native("args: [--port, '7']")).plan.api_port.origin.text == "demo.yaml: args[1]"


def test_the_wait_is_the_longer_of_probe_and_recipe():
    assert compile_text(native()).plan.ready_timeout == 1800
    assert compile_text(native("ready_timeout: 10m")).plan.ready_timeout == 1800
    assert compile_text(native("ready_timeout: 1h")).plan.ready_timeout == 3600
    assert compile_text(native("health: {start_period: 2h}")).plan.ready_timeout == 7200


def test_pins():
    moving = native().replace(IMAGE, "vllm/vllm-openai").replace(f"revision: '{'0' * 40}'\n", "")
    compiled = compile_text(moving)
    assert compiled.codes == ["SPK361", "SPK362"]
    assert "has no tag, so it means :latest" in compiled.report.diagnostics[0].message
    assert "revision 'main' of org/model can move" in compile_text(native().replace("0" * 40, "main")).text
    assert compile_text(native().replace("org/model", "/models/m")).codes == []


def test_all_models_are_listed():
    draft = native('args: [--speculative-config, \'{"model":"org/draft"}\']')
    assert [model.value for model in compile_text(draft).plan.models] == ["org/model", "org/draft"]
    assert [model.value for model in compile_text(v1("vllm serve org/m --revision 1")).plan.models] == ["org/m"]
    parent = native("parent_model: org/parent").replace("model: org/model", "model: /models/m")
    assert [model.value for model in compile_text(parent).plan.models] == ["org/parent"]


def test_problems_of_all_kinds_come_in_one_run(snapshot):
    recipe = native("parallel: {tensor: 2}", "mounts: [{source: /x, target: /x}]", "env: {NCCL_IB_HCA: mlx5_0}")
    compiled = compile_text(
        recipe,
        mem_swap_limit_gb=3,
        publish=("8000",),
        volumes=("a:/b", "/y:/x"),
        env=(("1A", "x"), ("HF_TOKEN", "hf_" + "a" * 34)),
        image="a b",
    )
    assert compiled.plan is None
    assert compiled.text == snapshot


def seconds(count):
    rows = "".join(f"  - {{name: n{i}, ssh: n{i}.lan, address: 10.1.{i // 200}.{i % 200 + 1}}}\n" for i in range(count))
    inventory = LAB[: LAB.index("  - ")] + rows
    recipe = native(f"parallel: {{tensor: {count}}}", "args:", *(f"  - --flag-{i}={i}" for i in range(20)))
    plan = compile_text(recipe, inventory).plan
    inputs = Inputs(plan.recipe, plan.inventory, Overrides())
    best = float("inf")
    gc.disable()  # its full passes cost what else the process holds in memory
    for _ in range(4):
        start = time.process_time()
        made = make_plan(inputs, Report())
        best = min(best, time.process_time() - start)
        assert len(made.ranks) == count
    gc.enable()
    return best


def test_planning_time_grows_with_the_ranks_and_no_faster():
    # Linear work makes it 2, quadratic work 4.
    assert seconds(512) / seconds(256) < 3
