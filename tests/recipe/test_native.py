import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkc import resources
from sparkc.diagnostics import Report, Severity
from sparkc.inventory.load import read_inventory
from sparkc.reading.read import read_document
from sparkc.reading.source import Source, Span
from sparkc.recipe import native
from sparkc.recipe.model import Param, Text
from sparkc.recipe.native_checks import PLACEHOLDERS
from sparkc.recipe.placeholders import fill
from sparkc.traced import Origin

FULL = """\
sparkc: 1
name: minimax-m2.5-awq
description: MiniMax M2.5 AWQ on two Sparks
engine: vllm
engine_version: 0.30
image: eugr/spark-vllm:latest
image_notes: nightly
model: /models/target
parent_model: cyankiwi/MiniMax-M2.5-AWQ-4bit
revision: 25921e05
served_model_name: [minimax, NO]
host: 0.0.0.0
port: 8_000
parallel: {tensor: 2, pipeline: 1, data: 1}
nodes: 2
cluster_only: true
solo_only: false
defaults: {ctx: 24.10}
args:
  - --max-model-len
  - "{ctx}"
  - --rope-theta
  - 1e6
  - --seed
  - 0899
  - '{"method":"mtp","n":{{x}}}'
json_args:
  --compilation-config: {cudagraph_mode: FULL, sizes: [1, 2]}
env: {A01: NO, A04: 0123, A11: 2026-09-20, GONE: null, EMPTY: "", IP: "{node.address}:{head.address}", J: '{"a": 1}'}
secrets: [HF_TOKEN]
mods: [drop-caches, ./mine]
mounts:
  - {source: ~/templates, target: /templates, read_only: true}
  - {source: /data/c$d, target: /cd, create: true}
entrypoint: [python3, /opt/run.py]
container:
  privileged: false
  ipc: host
  shm_size: 64gb
  memory: 115964116992
  memory_swap: 110.5G
  pids: null
  devices: [/dev/fuse]
  security_opt: [seccomp=/etc/s.json]
  ulimits: {nofile: 1048576, memlock: -1}
health: {path: /ready, port: 9000, start_period: 30m}
ready_timeout: 900
earlyoom: -M 1 -s 100
links: {status: /v1/status}
derived_from: {source: "https://example.org/x", revision: 12}
deviations: [{key: args.--async-scheduling, reason: not in the qualified shape}]
notes: {driver: 580.x}
"""


def load(text, name="recipe.yaml"):
    report = Report()
    document = read_document(name, text.encode(), report)
    assert document is not None, report.diagnostics
    assert native.matches(document)
    return native.read(document, report), report


def recipe(body="", *, engine="vllm", rest="model: org/m\n"):
    loaded, report = load(f"sparkc: 1\nname: demo\nengine: {engine}\nimage: img:1\n{rest}{body}")
    assert [d for d in report.diagnostics if d.severity is Severity.ERROR] == []
    return loaded


def errors(body, *, engine="vllm", rest="model: org/m\n"):
    loaded, report = load(f"sparkc: 1\nname: demo\nengine: {engine}\nimage: img:1\n{rest}{body}")
    found = [d for d in report.diagnostics if d.severity is Severity.ERROR]
    assert (loaded is None) == bool(found)
    assert all(d.span is not None and d.hint for d in found), found
    return found


def texts(command):
    """The argv with placeholders shown as ``<name>``."""
    shown = (("".join(p.text if isinstance(p, Text) else f"<{p.name}>" for p in word.parts)) for word in command.words)
    return list(shown)


def plain(value):
    """A recipe's values alone: spans, sources and origins left out."""
    if isinstance(value, Origin | Span | Source):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def test_every_field_arrives_as_typed():
    loaded, report = load(FULL)
    assert report.diagnostics == ()
    assert (loaded.dialect, loaded.title, loaded.base_name.value) == ("native", "minimax-m2.5-awq", "minimax-m2.5-awq")
    assert (loaded.engine.value, loaded.engine_version.value, loaded.arguments_only) == ("vllm", "0.30", True)
    assert (loaded.image.value, loaded.image_notes) == ("eugr/spark-vllm:latest", "nightly")
    assert (loaded.model.value, loaded.revision.value) == ("/models/target", "25921e05")
    assert loaded.parent_model.value == "cyankiwi/MiniMax-M2.5-AWQ-4bit"
    assert [name.value for name in loaded.served_model_name] == ["minimax", "NO"]
    assert (loaded.host.value, loaded.port.value, loaded.nodes.value) == ("0.0.0.0", 8000, 2)
    assert [loaded.parallel.tensor.value, loaded.parallel.pipeline.value, loaded.parallel.data.value] == [2, 1, 1]
    assert (loaded.cluster_only.value, loaded.solo_only.value) == (True, False)
    assert loaded.defaults["ctx"].value == "24.10"
    assert texts(loaded.command) == [
        "--max-model-len",
        "<ctx>",
        "--rope-theta",
        "1e6",
        "--seed",
        "0899",
        '{"method":"mtp","n":{{x}}}',
        "--compilation-config",
        '{"cudagraph_mode":"FULL","sizes":[1,2]}',
    ]
    values = {"node.address": "10.0.0.2", "head.address": "10.0.0.1"}
    assert {key: None if env.value is None else fill(env.value, values) for key, env in loaded.env.items()} == {
        "A01": "NO",
        "A04": "0123",
        "A11": "2026-09-20",
        "GONE": None,
        "EMPTY": "",
        "IP": "10.0.0.2:10.0.0.1",
        "J": '{"a": 1}',
    }
    assert [secret.value for secret in loaded.secrets] == ["HF_TOKEN"]
    assert [mod.value for mod in loaded.mods] == ["drop-caches", "./mine"]
    assert [(m.source.value, m.target.value, m.read_only, m.create) for m in loaded.mounts] == [
        ("~/templates", "/templates", True, False),
        ("/data/c$d", "/cd", False, True),
    ]
    assert loaded.entrypoint.value == ("python3", "/opt/run.py")
    container = loaded.container
    assert (container.privileged.value, container.ipc_host.value, container.pids) == (False, True, None)
    sizes = (container.shm_size.value, container.memory.value, container.memory_swap.value)
    assert sizes == ("64gb", "115964116992", "110.5G")
    assert [device.value for device in container.devices] == ["/dev/fuse"]
    assert [option.value for option in container.security_opt] == ["seccomp=/etc/s.json"]
    assert {name: limit.value for name, limit in container.ulimits.items()} == {"nofile": 1048576, "memlock": -1}
    health = loaded.health
    assert (health.path.value, health.port.value, health.start_period.value) == ("/ready", 9000, 1800)
    assert (loaded.ready_timeout.value, loaded.earlyoom.value) == (900, "-M 1 -s 100")
    assert (loaded.links, loaded.notes) == ({"status": "/v1/status"}, {"driver": "580.x"})
    assert {key: text.value for key, text in loaded.derived_from.items()} == {
        "source": "https://example.org/x",
        "revision": "12",
    }
    assert [(d.key, d.reason) for d in loaded.deviations] == [("args.--async-scheduling", "not in the qualified shape")]


def test_values_are_traced_to_their_key_and_place():
    loaded, _ = load(FULL)
    word = loaded.command.words[1]
    assert (word.origin.text, word.origin.span.line) == ("recipe.yaml: args[1]", 21)
    assert (word.parts[0].span.line, word.parts[0].span.column) == (21, 6)
    assert loaded.command.words[-1].origin.text == "recipe.yaml: json_args.--compilation-config"
    assert loaded.env["GONE"].origin.text == "recipe.yaml: env.GONE"


def test_the_smallest_recipe():
    loaded = recipe()
    assert loaded.command.words == ()
    assert (loaded.entrypoint, loaded.earlyoom, loaded.env, loaded.mounts) == (None, None, {}, ())


def test_the_same_recipe_in_toml_gives_the_same_values():
    toml = """\
sparkc = 1
name = "minimax-m2.5-awq"
description = "MiniMax M2.5 AWQ on two Sparks"
engine = "vllm"
engine_version = "0.30"
image = "eugr/spark-vllm:latest"
image_notes = "nightly"
model = "/models/target"
parent_model = "cyankiwi/MiniMax-M2.5-AWQ-4bit"
revision = "25921e05"
served_model_name = ["minimax", "NO"]
host = "0.0.0.0"
port = 8_000
parallel = {tensor = 2, pipeline = 1, data = 1}
nodes = 2
cluster_only = true
solo_only = false
defaults = {ctx = "24.10"}
args = ["--max-model-len", "{ctx}", "--rope-theta", "1e6", "--seed", "0899", '{"method":"mtp","n":{{x}}}']
secrets = ["HF_TOKEN"]
mods = ["drop-caches", "./mine"]
entrypoint = ["python3", "/opt/run.py"]
ready_timeout = 900
earlyoom = "-M 1 -s 100"
deviations = [{key = "args.--async-scheduling", reason = "not in the qualified shape"}]
links = {status = "/v1/status"}
derived_from = {source = "https://example.org/x", revision = "12"}
notes = {driver = "580.x"}
health = {path = "/ready", port = 9000, start_period = "30m"}
json_args = {--compilation-config = {cudagraph_mode = "FULL", sizes = [1, 2]}}
[[mounts]]
source = "~/templates"
target = "/templates"
read_only = true
[[mounts]]
source = "/data/c$d"
target = "/cd"
create = true
[container]
privileged = false
ipc = "host"
shm_size = "64gb"
memory = 115964116992
memory_swap = "110.5G"
devices = ["/dev/fuse"]
security_opt = ["seccomp=/etc/s.json"]
ulimits = {nofile = 1048576, memlock = -1}
[env]
A01 = "NO"
A04 = "0123"
A11 = "2026-09-20"
EMPTY = ""
IP = "{node.address}:{head.address}"
J = '{"a": 1}'
"""
    from_toml, report = load(toml, "recipe.toml")
    assert report.diagnostics == ()
    from_yaml, _ = load(FULL.replace("GONE: null, ", ""))  # TOML has no null
    assert plain(from_toml) == plain(from_yaml)


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda n: n not in PLACEHOLDERS)
simple = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn"], exclude_characters="{}"))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(names, simple), st.lists(simple), st.dictionaries(names, simple))
def test_any_text_is_the_same_in_yaml_and_toml_and_arrives_unchanged(defaults, args, env):
    import json

    def quoted(text):
        return json.dumps(text, ensure_ascii=all(ord(char) < 0x10000 for char in text))

    def table(values, separator):
        return "{" + ", ".join(f"{key}{separator}{quoted(value)}" for key, value in values.items()) + "}"

    items = "[" + ", ".join(quoted(arg) for arg in args) + "]"
    head = {"name": "demo", "engine": "vllm", "image": "img:1", "model": "org/m"}
    yaml = "sparkc: 1\n" + "".join(f"{key}: {value}\n" for key, value in head.items())
    yaml += f"defaults: {table(defaults, ': ')}\nargs: {items}\nenv: {table(env, ': ')}\n"
    toml = "sparkc = 1\n" + "".join(f'{key} = "{value}"\n' for key, value in head.items())
    toml += f"defaults = {table(defaults, ' = ')}\nargs = {items}\nenv = {table(env, ' = ')}\n"
    from_yaml, _ = load(yaml)
    from_toml, _ = load(toml, "recipe.toml")
    assert plain(from_yaml) == plain(from_toml)
    assert texts(from_yaml.command) == args
    assert {key: fill(value.value, {}) for key, value in from_yaml.env.items()} == env
    assert {key: value.value for key, value in from_yaml.defaults.items()} == defaults


def test_a_plain_command_as_a_list_or_as_text():
    as_list = recipe('command: [serve, --rank, "{rank}", a b]\n', engine="plain", rest="")
    as_text = recipe("command: serve --rank {rank} 'a b'\n", engine="plain", rest="")
    assert texts(as_list.command) == texts(as_text.command) == ["serve", "--rank", "<rank>", "a b"]
    assert as_list.arguments_only is False


def test_a_value_in_a_text_command_never_splits():
    loaded = recipe("defaults: {x: a b}\ncommand: serve {x}\n", engine="plain", rest="")
    (param,) = loaded.command.words[1].parts
    assert isinstance(param, Param)
    assert param.context == "data"


def test_assignments_before_a_text_command_become_environment_over_env():
    loaded = recipe("env: {A: low, B: b}\ncommand: A=high serve\n", engine="plain", rest="")
    assert {key: fill(value.value, {}) for key, value in loaded.env.items()} == {"A": "high", "B": "b"}
    assert fill(loaded.env["A"].overrode.value, {}) == "low"


@pytest.mark.parametrize(
    ("text", "value"),
    [("null", ()), ("[]", ()), ("[sh, -c]", ("sh", "-c")), ("keep", None)],
)
def test_entrypoint(text, value):
    assert recipe(f"entrypoint: {text}\n").entrypoint.value == value


@pytest.mark.parametrize(("text", "arguments"), [("true", ""), ('"-M 1"', "-M 1"), ('"true"', "true")])
def test_earlyoom(text, arguments):
    assert recipe(f"earlyoom: {text}\n").earlyoom.value == arguments


def test_earlyoom_false_is_absent():
    assert recipe("earlyoom: false\n").earlyoom is None


def test_port_and_model_may_be_parameters_instead_of_fields():
    loaded = recipe('defaults: {port: 8000}\nargs: [--port, "{port}"]\n')
    assert loaded.port is None
    assert loaded.defaults["port"].value == "8000"


@pytest.mark.parametrize(
    ("body", "code", "line", "message"),
    [
        ("prot: 8000\n", "SPK020", 6, "unknown key 'prot'"),
        ("port: 0022\n", "SPK022", 6, "port has a leading zero"),
        ("port: 99999\n", "SPK023", 6, "port is 99999"),
        ("nodes: 1e1\n", "SPK022", 6, "nodes must be a whole decimal number"),
        ("cluster_only: yes\n", "SPK021", 6, "cluster_only must be true or false"),
        ("args: --port 8000\n", "SPK021", 6, "args must be a list"),
        ("args: [a, {b: c}]\n", "SPK021", 6, "args[1] must be text"),
        ("args: [~]\n", "SPK021", 6, "args[0] must be text"),
        ("args: ['{ctx}']\n", "SPK152", 6, "unknown placeholder {ctx}"),
        ("args: ['{node.adress}']\n", "SPK152", 6, "unknown placeholder {node.adress}"),
        ("json_args: {--x: ['{ctx}']}\n", "SPK152", 6, "unknown placeholder {ctx}"),
        ("json_args: {x: 1}\n", "SPK032", 6, "'x' cannot be a key of json_args"),
        ("env: {A: '{ctx}'}\n", "SPK153", 6, "{ctx} is not available in env"),
        ("env: {A: '{rank}'}\n", "SPK153", 6, "{rank} is not available in env"),
        ("env: {A-B: x}\n", "SPK032", 6, "'A-B' cannot be a key of env"),
        ("env: {A: [x]}\n", "SPK021", 6, "env.A must be text"),
        ("env: [A=b]\n", "SPK021", 6, "env must be a mapping"),
        ("defaults: {rank: 1}\n", "SPK156", 6, "defaults.rank and the built-in placeholder {rank}"),
        ("defaults: {model: x}\n", "SPK156", 6, "defaults.model and the built-in placeholder {model}"),
        ("defaults: {ctx: }\n", "SPK021", 6, "defaults.ctx must be text"),
        ("secrets: [HF-TOKEN]\n", "SPK032", 6, "secrets[0] cannot be 'HF-TOKEN'"),
        ("mounts: [{source: rel, target: /x}]\n", "SPK032", 6, "mounts[0].source cannot be 'rel'"),
        ("mounts: [{source: ~bob/x, target: /x}]\n", "SPK032", 6, "mounts[0].source cannot be '~bob/x'"),
        ("mounts: [{source: '', target: /x}]\n", "SPK032", 6, "mounts[0].source cannot be ''"),
        ("mounts: [{source: /x}]\n", "SPK030", 6, "mounts[0] needs the key 'target'"),
        ("entrypoint: serve\n", "SPK158", 6, "entrypoint must be null, a list of words or keep"),
        ("container: {shm_size: 1e9}\n", "SPK155", 6, "container.shm_size must be a size, not '1e9'"),
        ("container: {memory: 108 gigs}\n", "SPK155", 6, "container.memory must be a size"),
        ("container: {memory: -1}\n", "SPK155", 6, "container.memory must be a size"),
        ("container: {ulimits: {nofile: -2}}\n", "SPK023", 6, "container.ulimits.nofile is -2"),
        ("container: {ipc: private}\n", "SPK031", 6, "container.ipc must be host"),
        ("health: {start_period: PT5M}\n", "SPK154", 6, "health.start_period must be a time"),
        ("ready_timeout: 0\n", "SPK154", 6, "ready_timeout must be a time of at least one second"),
        ("command: serve\nargs: [a]\n", "SPK150", 7, "`args` and `command` exclude each other"),
        ("command: serve\nparallel: {tensor: 2}\n", "SPK150", 7, "`parallel` and `command` exclude each other"),
        ("solo_only: true\ncluster_only: true\n", "SPK150", 6, "solo_only and cluster_only exclude each other"),
        ("deviations: [{key: x}]\n", "SPK030", 6, "deviations[0] needs the key 'reason'"),
    ],
)
def test_a_fault_is_one_located_error(body, code, line, message):
    (found,) = errors(body)
    assert (found.code, found.span.line) == (code, line)
    assert found.message.startswith(message)


def test_did_you_mean():
    assert errors("prot: 8000\n")[0].hint == "did you mean 'port'?"
    assert errors("defaults: {ctx: 1}\nargs: ['{ctxx}']\n")[0].hint == "did you mean 'ctx'?"
    assert errors("", engine="vlm")[0].hint == "did you mean 'vllm'?"


@pytest.mark.parametrize(
    ("engine", "rest", "body", "message"),
    [
        ("vllm", "", "", "engine 'vllm' needs `model`"),
        ("sglang", "", "", "engine 'sglang' needs `model`"),
        ("plain", "", "", "engine 'plain' needs `command`"),
        ("plain", "", "command: [a]\nargs: [b]\n", "`args` cannot be used with engine 'plain'"),
        ("plain", "", "command: [a]\njson_args: {--b: 1}\n", "`json_args` cannot be used with engine 'plain'"),
        ("plain", "", "command: []\n", "command must have at least 1 item"),
    ],
)
def test_what_an_engine_needs_and_cannot_use(engine, rest, body, message):
    (found,) = errors(body, engine=engine, rest=rest)
    assert found.message.startswith(message)


def test_a_text_command_that_needs_a_shell_is_an_error():
    (found,) = errors("command: serve | tee log\n", engine="plain", rest="")
    assert (found.code, found.span.column) == ("SPK112", 16)


def test_a_flag_and_its_value_in_one_item_is_a_warning():
    _, report = load("sparkc: 1\nname: demo\nengine: vllm\nimage: i\nmodel: m\nargs: [--port 8000]\n")
    (found,) = report.diagnostics
    assert (found.code, found.severity) == ("SPK121", Severity.WARNING)


def test_toml_values_that_are_no_strings_are_errors():
    text = (
        'sparkc = 1\nname = "demo"\nengine = "vllm"\nimage = "i"\nmodel = "m"\nargs = ["--tp", 2]\nenv = {A = true}\n'
    )
    _, report = load(text, "recipe.toml")
    assert [(d.code, d.span.line, d.hint) for d in report.diagnostics] == [
        ("SPK026", 6, 'quote it: "2"'),
        ("SPK026", 7, 'quote it: "true"'),
    ]


def test_all_faults_come_in_one_run_in_the_order_of_the_file():
    _, report = load("sparkc: 1\nengine: plain\nport: 1e5\nargs: [x]\nenv: {A: '{b}'}\nready_timeout: soon\nprot: 1\n")
    assert [d.code for d in report.diagnostics] == [
        "SPK030",  # name
        "SPK030",  # image
        "SPK151",
        "SPK023",
        "SPK150",
        "SPK153",
        "SPK154",
        "SPK020",
    ]


@st.composite
def mutations(draw):
    lines = FULL.splitlines()
    values = st.sampled_from(
        ["", "~", "[]", "{}", "- x", "0x1F", "1e999", "[a, {b: c}]", "{x}", "[~]", "-1", "é", "a | b"]
    )
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(1, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "value", "engine", "text"]))
        if kind == "drop":
            lines[index] = ""
        elif kind == "value" and ":" in lines[index]:
            lines[index] = f"{lines[index].split(':')[0]}: {draw(values)}"
        elif kind == "engine":
            lines[3] = "engine: plain"
            lines.append(f"command: {draw(values)}")
        else:
            lines[index] = draw(st.text(max_size=20))
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(mutations())
def test_no_input_raises_and_every_error_is_located(text):
    report = Report()
    document = read_document("recipe.yaml", text.encode(), report)
    loaded = native.read(document, report) if document is not None else None
    found = [d for d in report.diagnostics if d.severity is Severity.ERROR]
    assert (loaded is None) == bool(found)
    assert all(d.span is not None and d.hint for d in found), found


def test_the_files_of_a_new_project_are_without_fault():
    project = Path(resources.folder("templates")) / "project"
    report = Report()
    starter = native.read(read_document("hello.yaml", (project / "recipe.yaml").read_bytes(), report), report)
    inventory = read_inventory(
        read_document("inventory.yaml", (project / "inventory.yaml").read_bytes(), report), report
    )
    assert report.diagnostics == ()
    assert texts(starter.command)[:2] == ["--max-model-len", "<ctx>"]
    assert [node.address.value for node in inventory.nodes] == ["192.168.177.11", "192.168.177.12"]
