"""Commands that sparkc does not know."""

from dataclasses import replace

from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.traced import Traced, from_flag
from support.compile_text import compile_text, native, v1


def test_every_node_runs_the_same_command_with_a_note():
    compiled = compile_text(native("command: [run, --x]", engine="plain"), nodes="3")
    assert [compiled.argv(rank) for rank in range(3)] == [["run", "--x"]] * 3
    assert [rank.wave for rank in compiled.ranks] == [0, 0, 0]
    assert compiled.codes == ["SPK306"]
    assert "VLLM_HOST_IP" not in compiled.env()


def test_rank_0_is_probed_where_the_recipe_says_how():
    recipe = native("port: 8000", "health: {path: /up}", "command: [run, --host, 10.0.0.9]", engine="plain")
    head, worker = compile_text(recipe, nodes="2").ranks
    assert (head.probe.url, worker.probe) == ("http://10.0.0.9:8000/up", None)
    assert [[port.number for port in rank.ports] for rank in (head, worker)] == [[8000], []]
    assert compile_text(native("port: 8000", "command: [run]", engine="plain")).ranks[0].probe is None
    other = native("port: 8000", "health: {path: /up, port: 9}", "command: [run]", engine="plain")
    assert compile_text(other).ranks[0].probe.url == "http://127.0.0.1:9/up"


def test_the_port_of_a_command_is_its_placeholder():
    compiled = compile_text(v1("uvicorn app --port {port}", "defaults: {port: 7000}"))
    assert (compiled.plan.api_port.value, compiled.plan.api_port.origin.kind) == (7000, "file")
    assert compile_text(v1("uvicorn app")).plan.api_port is None
    assert compile_text(v1("uvicorn app")).plan.client_url is None


def test_an_entrypoint_runs_first():
    compiled = compile_text(native("entrypoint: [/opt/env.sh]", "command: [run]", engine="plain"))
    assert compiled.argv() == ["/opt/env.sh", "run"]


def test_the_group_has_one_image():
    first, second = compile_text(native("command: [run]", engine="plain"), nodes="2").ranks
    other = replace(second, container=replace(second.container, image=Traced("x", from_flag("-t"))))
    report = Report()
    ENGINES["plain"].check_group((first, other), None, report)
    assert [found.code for found in report.diagnostics] == ["SPK320"]
