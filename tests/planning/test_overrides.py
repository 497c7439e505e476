"""What the command line changes in a recipe's command, and what it cannot change."""

import pytest

from sparkc.planning.overrides import Overrides
from support.compile_text import LAB, REVISION, compile_text, native, v1

FULL = v1(
    "vllm serve m --port {port} --host {host} -tp {tensor_parallel} -pp {pipeline_parallel} -dp {data_parallel}"
    " --gpu-memory-utilization {gpu_memory_utilization} --max-model-len {max_model_len}",
    "defaults: {port: 8000, host: 0.0.0.0, tensor_parallel: 2, pipeline_parallel: 1, data_parallel: 1,"
    " gpu_memory_utilization: '0.80', max_model_len: auto}",
)
LITERAL = v1(
    "vllm serve m --port 8000 --host 0.0.0.0 -tp 2 -pp 1 -dp=1 --gpu_memory_utilization 0.80 --max-model-len=auto"
)
GIVEN = {"port": 9000, "host": "::", "tp": 1, "pp": 2, "dp": 2, "gpu_mem": "0.70", "max_model_len": "4096"}


def after(argv, flag):
    return argv[argv.index(flag) + 1]


def origin(compiled, value, rank=0):
    """Return the kind and text of the word ``value``, and what it replaced."""
    word = next(word for word in compiled.ranks[rank].process.argv if word.value == value)
    return word.origin.kind, word.origin.text, word.overrode.value if word.overrode else None


def test_every_named_override_fills_its_parameter():
    compiled = compile_text(FULL, **GIVEN)
    own = compiled.argv()[: compiled.argv().index("--nnodes")]
    expected = "vllm serve m --port 9000 --host :: -tp 1 -pp 2 -dp 2 --gpu-memory-utilization 0.70 --max-model-len 4096"
    assert own == expected.split()
    assert origin(compiled, "9000") == ("flag", "--port 9000", "8000")
    assert origin(compiled, "0.70") == ("flag", "--gpu-mem 0.70", "0.80")
    assert compiled.plan.api_port.value == 9000


def test_every_named_override_replaces_a_literal_in_the_spelling_that_stands_there():
    compiled = compile_text(LITERAL, **GIVEN)
    own = compiled.argv()[: compiled.argv().index("--nnodes")]
    expected = "vllm serve m --port 9000 --host :: -tp 1 -pp 2 -dp=2 --gpu_memory_utilization 0.70 --max-model-len=4096"
    assert own == expected.split()
    assert origin(compiled, "-dp=2") == ("flag", "--dp 2", "-dp=1")


def test_an_absent_flag_is_appended():
    compiled = compile_text(v1("vllm serve m --a b"), port=9000, max_model_len="1")
    assert compiled.argv() == ["vllm", "serve", "m", "--a", "b", "--port", "9000", "--max-model-len", "1"]


def test_a_parameter_elsewhere_does_not_save_a_literal_flag():
    recipe = v1("vllm serve m --port 8000 --title on-{port}", "defaults: {port: 8000}")
    assert compile_text(recipe, port=9000).argv() == ["vllm", "serve", "m", "--port", "9000", "--title", "on-9000"]


def test_a_parameter_without_the_flag_is_enough():
    recipe = v1("vllm serve m --json '{{\"port\":{port}}}'", "defaults: {port: 8000}")
    assert compile_text(recipe, port=9000).argv() == ["vllm", "serve", "m", "--json", '{"port":9000}']


def test_fields_of_a_native_recipe_are_overridden():
    compiled = compile_text(native("port: 8000", "parallel: {tensor: 4}", "args: [--x, '{port}']"), port=9000, tp=2)
    own = compiled.argv()[: compiled.argv().index("--nnodes")]
    expected = f"--revision {REVISION} --port 9000 --tensor-parallel-size 2 --x 9000"
    assert own[3:] == expected.split()
    assert origin(compiled, "2", 1) == ("flag", "--tp 2", "4")
    assert len(compiled.ranks) == 2


@pytest.mark.parametrize("flag", ["--gpu-memory-utilization-gb", "--gpu-memory-utilization"])
def test_gpu_memory_keeps_the_unit_of_the_recipe(flag):
    compiled = compile_text(v1(f"vllm serve m {flag} 100"), gpu_mem="90")
    assert compiled.argv() == ["vllm", "serve", "m", flag, "90"]


def test_every_occurrence_of_a_doubled_flag_is_replaced():
    compiled = compile_text(v1("vllm serve m --port 1 --port 2"), port=9)
    assert compiled.argv() == ["vllm", "serve", "m", "--port", "9", "--port", "9"]


def test_an_inventory_wide_port_serves_recipes_that_state_none():
    inventory = LAB.replace("topology", "port: 7000\ntopology")
    compiled = compile_text(native("args: [--x, '{port}']"), inventory)
    assert after(compiled.argv(), "--port") == "7000"
    assert after(compiled.argv(), "--x") == "7000"
    assert compiled.plan.api_port.origin.text == "inventory.yaml: port"
    assert after(compile_text(native("port: 8001"), inventory).argv(), "--port") == "8001"
    assert after(compile_text(v1("vllm serve m --port 8002"), inventory).argv(), "--port") == "8002"
    overridden = compile_text(native(), inventory, port=9).plan.api_port
    assert (overridden.value, overridden.origin.text) == (9, "--port 9")


def test_a_script_takes_an_override_only_through_its_placeholders():
    command = "cd /tmp && vllm serve m --port {port} | tee log"
    compiled = compile_text(v1(command, "defaults: {port: 8000}"), port=9000)
    assert "vllm \\\n    serve \\\n    m \\\n    --port \\\n    9000 | tee log" in compiled.ranks[0].process.text.value
    refused = compile_text(v1(command.replace("{port}", "8000")), port=9000)
    assert refused.codes[-1] == "SPK302"
    assert "put the placeholder {port} into the command" in refused.report.diagnostics[-1].hint


def test_a_plain_command_takes_an_override_only_through_its_placeholders():
    compiled = compile_text(native("port: 8000", "command: [run, '{port}']", engine="plain"), port=9000)
    assert compiled.argv() == ["run", "9000"]
    assert (compiled.plan.api_port.value, compiled.plan.client_url) == (9000, "http://s1.lan:9000")
    refused = compile_text(native("command: [run]", engine="plain"), tp=2)
    assert refused.codes == ["SPK302"]
    assert "engine plain" in refused.report.diagnostics[0].message


def test_set_reaches_parameters_of_any_name():
    recipe = native("defaults: {ctx: '1', other: '2'}", "args: [--x, '{ctx}-{other}']")
    compiled = compile_text(recipe, set=(("ctx", "a b"), ("other", "{ctx}")))
    assert compiled.argv()[-1] == "a b-{ctx}"
    assert origin(compiled, "a b-{ctx}") == ("flag", "--set ctx=a b", "1-2")


@pytest.mark.parametrize(
    ("key", "hint"),
    [("ctxx", "did you mean 'ctx'?"), ("unused", "it uses: ctx"), ("port", "use --port"), ("rank", "it uses: ctx")],
)
def test_set_of_a_key_that_the_command_does_not_use(key, hint):
    recipe = native("defaults: {ctx: '1', unused: '2'}", "args: [--x, '{ctx}{rank}', '{port}']", "port: 1")
    compiled = compile_text(recipe, set=((key, "1"),))
    assert compiled.plan is None
    assert [found.hint for found in compiled.report.diagnostics if found.code == "SPK301"] == [hint]


def test_engine_arguments_go_last_and_before_rank_flags():
    compiled = compile_text(native("parallel: {tensor: 2}"), arguments=("--seed", "4"))
    argv = compiled.argv(1)
    assert argv[argv.index("--seed") : argv.index("--nnodes") + 1] == ["--seed", "4", "--nnodes"]
    assert origin(compiled, "--seed") == ("flag", "-- --seed", None)


def test_engine_arguments_count_nodes_too():
    assert len(compile_text(native(), arguments=("-tp", "2")).ranks) == 2


def test_engine_arguments_go_to_the_engine_command_of_a_script():
    compiled = compile_text(v1("sleep 1; vllm serve m # later"), arguments=("--seed", "a b"))
    assert "    m \\\n    --seed \\\n    'a b' # later" in compiled.ranks[0].process.text.value
    refused = compile_text(v1("sleep 1; run it"), arguments=("--seed",))
    assert "SPK303" in refused.codes


@pytest.mark.parametrize("port", ["0", "65536", "http", "9" * 5000])
def test_a_port_that_is_no_port(port):
    compiled = compile_text(native("defaults: {p: '8000'}", "args: [--port, '{p}']"), set=(("p", port),))
    assert compiled.codes == ["SPK313"]


def test_one_port_for_two_listeners():
    compiled = compile_text(native("port: 29501", "parallel: {tensor: 2}"))
    assert compiled.codes == ["SPK321"]
    assert "29501 would be both the api port and the master port" in compiled.report.diagnostics[0].message
    assert compile_text(native("port: 29501", "parallel: {tensor: 2}"), master_port=3).codes == []


def test_master_port_and_image():
    compiled = compile_text(native("parallel: {tensor: 2}"), master_port=3000, image="other/image:1")
    assert after(compiled.argv(1), "--master-port") == "3000"
    image = compiled.ranks[1].container.image
    assert (image.value, image.origin.text, image.overrode.value[:4]) == (
        "other/image:1",
        "--image other/image:1",
        "vllm",
    )
    assert compiled.codes == ["SPK361"]


@pytest.mark.parametrize("image", ["", "-x", "a b", "a\nb"])
def test_what_is_no_image(image):
    assert "SPK360" in compile_text(native(), image=image).codes


def test_a_placeholder_that_a_chosen_node_does_not_fill():
    inventory = LAB.replace("interface: enp1s0f0np0, ", "")
    recipe = native("parallel: {tensor: 2}", "args: [--iface, '{node.interface}']", "env: {A: '{node.interface}'}")
    compiled = compile_text(recipe, inventory)
    errors = [found for found in compiled.report.diagnostics if found.code == "SPK300"]
    assert [found.message for found in errors] == ["nothing fills the placeholder {node.interface} on s1"]
    assert errors[0].span.line == 8
    assert compile_text(recipe, inventory, nodes="s2,s3").plan is None
    # Only the chosen nodes count, not the first of the inventory.
    solo = compile_text(recipe.replace("parallel: {tensor: 2}", ""), inventory, nodes="s2")
    assert solo.argv()[-1] == "enp1s0f1np1"
    assert solo.env()["A"] == "enp1s0f1np1"


def test_env_names_the_node_that_does_not_fill_a_placeholder():
    inventory = LAB.replace("interface: enp1s0f0np0, ", "")
    compiled = compile_text(native("env: {A: '{node.interface}'}", "parallel: {tensor: 2}"), inventory)
    found = next(found for found in compiled.report.diagnostics if found.code == "SPK300")
    assert found.message == "nothing fills the placeholder {node.interface} in env A on s1"


def test_rank_placeholders():
    recipe = native(
        "nodes: 2",
        "command: [run, '{rank}/{nnodes}', '{node.name}', '{node.address}', '{node.interface}', '{node.hcas}',"
        " '{head.address}', '{unclosed', '{{rank}}']",
        engine="plain",
    )
    compiled = compile_text(recipe)
    hcas = "rocep1s0f1,roceP2p1s0f1"
    assert compiled.argv(1) == [
        "run",
        "1/2",
        "s2",
        "10.0.0.2",
        "enp1s0f1np1",
        hcas,
        "10.0.0.1",
        "{unclosed",
        "{{rank}}",
    ]
    assert compiled.argv(0)[1:4] == ["0/2", "s1", "10.0.0.1"]


def test_a_record_holds_what_was_given_and_reads_back():
    given = Overrides(port=9000, set=(("a", "b"), ("c", "")), ray=False, solo=True, arguments=("--x",))
    record = given.record()
    assert record == {"port": 9000, "set": [["a", "b"], ["c", ""]], "ray": False, "solo": True, "arguments": ["--x"]}
    assert Overrides.from_record(record) == given
    assert Overrides().record() == {}
    assert Overrides.from_record({}) == Overrides()


def test_a_record_can_be_typed_again():
    given = Overrides(
        nodes="s1,s2",
        tp=2,
        gpu_mem="0.90",
        set=(("ctx", "4=5"),),
        env=(("A", "b c"), ("B", "")),
        mods=("x",),
        volumes=("/a:/b",),
        ray=False,
        earlyoom=True,
        nccl_debug="INFO",
        jobs=4,
        arguments=("--load-format", "auto"),
    )

    assert given.options() == (
        "--nodes", "s1,s2", "--tp", "2", "--gpu-mem", "0.90", "--set", "ctx=4=5", "--env", "A=b c", "--env", "B=",
        "--mod", "x", "--volume", "/a:/b", "--no-ray", "--earlyoom", "--nccl-debug", "INFO", "-j", "4",
        "--", "--load-format", "auto",
    )  # fmt: skip
    assert Overrides().options() == ()
