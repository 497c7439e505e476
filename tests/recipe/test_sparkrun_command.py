"""Commands of sparkrun recipes: placeholders until nothing changes, and commands made from defaults. Bash decides."""

import re
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparkc.diagnostics import Report, Severity
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Script
from sparkc.recipe.placeholders import fill, fill_shell, fill_word

HEAD = "model: org/m\nruntime: vllm\ncontainer: img:1\n"
STUB = "vllm() { printf '%s\\0' vllm \"$@\"; }\n"


def read(defaults, command, head=HEAD):
    """Read a recipe whose command stands in a block text from line 5 + number of defaults on."""
    lines = "".join(f"  {name}: {value}\n" for name, value in defaults.items())
    body = "".join(f"  {line}\n" for line in command.split("\n"))
    report = Report()
    text = f"{head}defaults:\n  port: 8000\n{lines}command: |\n{body}"
    return read_recipe_file("two.yaml", text.encode(), report), report


def values_of(recipe, **overrides):
    return {name: value.value for name, value in recipe.defaults.items()} | overrides


def argv(recipe, **overrides):
    values = values_of(recipe, **overrides)
    return [item for word in recipe.command.words for item in fill_word(word, values, Report())]


def found(report):
    return [(item.code, item.span.line, item.span.column) for item in report.diagnostics]


def test_known_names_are_placeholders_and_every_other_brace_is_text():
    recipe, report = read({"k": 3}, """vllm serve {model} --x '{"a":{"b":1}}' '{"n":{k}}' '{ }' --y '{"a b"}' {port}""")
    assert report.diagnostics == ()
    assert argv(recipe) == [
        "vllm", "serve", "org/m", "--x", '{"a":{"b":1}}', '{"n":3}', "{ }", "--y", '{"a b"}', "8000",
    ]  # fmt: skip


def test_doubled_braces_are_single_ones_where_a_text_has_them():
    recipe, _ = read({"k": 3, "spec": """'{{"m":1}}'"""}, """vllm serve m --a '{{"n":{k},"o":{{}}}}' --b '{spec}'""")
    assert argv(recipe) == ["vllm", "serve", "m", "--a", '{"n":3,"o":{}}', "--b", '{"m":1}']


def test_values_may_hold_placeholders_and_overrides_reach_them():
    defaults = {"spec": """'{"n":{k},"p":{inner}}'""", "inner": '"{k}{port}"', "k": 3, "url": "http://h:{port}/v1"}
    recipe, report = read(defaults, "vllm serve m --s '{spec}' --k {k} --u {url}")
    assert report.diagnostics == ()
    assert argv(recipe) == ["vllm", "serve", "m", "--s", '{"n":3,"p":38000}', "--k", "3", "--u", "http://h:8000/v1"]
    assert argv(recipe, k="5", port="9") == [
        "vllm", "serve", "m", "--s", '{"n":5,"p":59}', "--k", "5", "--u", "http://h:9/v1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "written", "expected"),
    [
        ("it's {k}", "'{v}'", ["it's 3"]),
        ('say "{k}" $x `y` \\', '"{v}"', ['say "3" $x `y` \\']),
        ("--flag {k} 'a {k}'", "{v}", ["--flag", "3", "a 3"]),
        ("{k}", "x{v}y", ["x3y"]),
    ],
)
def test_a_nested_value_is_data_in_quotes_and_words_outside(value, written, expected):
    yaml = "'" + value.replace("'", "''") + "'"
    recipe, report = read({"k": 3, "v": yaml}, f"vllm serve {written}")
    assert not report.failed
    assert argv(recipe) == ["vllm", "serve", *expected]


def test_lists_and_mappings_are_compact_json():
    recipe, _ = read({"spec": "{method: mtp, n: 3, f: 0.90}", "ids": "[1, a]"}, "vllm serve m --s '{spec}' --i '{ids}'")
    assert argv(recipe) == ["vllm", "serve", "m", "--s", '{"method":"mtp","n":3,"f":0.90}', "--i", '[1,"a"]']


@pytest.mark.parametrize(
    ("defaults", "chain", "line"),
    [
        ({"a": '"{b}"', "b": '"x{a}"'}, "{a} → {b} → {a}", 6),
        ({"a": '"x{a}"'}, "{a} → {a}", 6),
        ({"a": '"{b}"', "b": '"{c}"', "c": '"{b}"'}, "{b} → {c} → {b}", 7),
    ],
)
def test_parameters_that_contain_themselves_are_located(defaults, chain, line):
    recipe, report = read(defaults, "vllm serve {a}")
    assert recipe is None
    (item,) = report.diagnostics
    assert (item.code, item.severity, item.span.line) == ("SPK136", Severity.ERROR, line)
    assert chain in item.message
    assert item.related[0].span.line == 6 + len(defaults) + 1


def test_parameters_that_contain_themselves_do_no_harm_unused():
    recipe, report = read({"a": '"{a}"'}, "vllm serve m {port}")
    assert not report.failed
    assert argv(recipe) == ["vllm", "serve", "m", "8000"]


def test_unknown_names_are_errors_with_their_place():
    _, report = read(
        {"served_model_name": "x"}, "vllm serve m \\\n  --served-model-name {served-model-name} {undefined}"
    )
    assert found(report) == [("SPK152", 9, 25), ("SPK152", 9, 45)]
    assert report.diagnostics[0].hint == "did you mean 'served_model_name'?"
    assert report.diagnostics[1].hint == "add undefined to defaults"


def test_blanks_after_a_backslash_are_dropped_with_a_note():
    recipe, report = read({}, "vllm serve m \\  \n  --a \\\t\n  1 \\")
    assert found(report) == [("SPK141", 7, 16), ("SPK141", 8, 9)]
    assert argv(recipe) == ["vllm", "serve", "m", "--a", "1"]


def test_a_line_that_is_not_continued_stays_an_error():
    _, report = read({}, "vllm serve m\n  --a 1")
    assert found(report) == [("SPK114", 7, 14)]


def test_scripts_keep_braces_that_belong_to_the_shell():
    text = "f() { awk '{print}'; }\nexport P=\"${PATH:-}\" # {port}\nexec vllm serve {model} --port {port} | tee {log}"
    recipe, report = read({"log": "/l"}, text)
    assert isinstance(recipe.command, Script)
    assert [item.code for item in report.diagnostics] == ["SPK119"]
    values = values_of(recipe)
    engine = " ".join(fill_shell(word.shell, values, Report()) for word in recipe.command.engine)
    shown = fill_shell(recipe.command.before, values, Report()) + engine
    assert shown + fill_shell(recipe.command.after, values, Report()) == text.replace("{model}", "org/m").replace(
        "--port {port}", "--port 8000"
    ).replace("{log}", "/l")


def test_unknown_names_in_the_engines_part_of_a_script_are_errors():
    _, report = read({}, "export A=1\nvllm serve {mdl}")
    assert [item.code for item in report.diagnostics if item.severity is Severity.ERROR] == ["SPK152"]


MADE = {
    "vllm": """\
vllm serve org/m -tp 2 --port 8000 --gpu-memory-utilization 0.8 --served-model-name a b --no-enable-prefix-caching
--trust-remote-code --speculative-config '{"method":"mtp","n":1}' --hf-overrides '{"a": "b c"}'""",
    "sglang": """\
sglang serve --model-path org/m --port 8000 --mem-fraction-static 0.8 --context-length 4096 --max-running-requests 4
--disable-radix-cache""",
    "llama-cpp": """\
llama-server -hf org/m --port 8000 --ctx-size 8192 --split-mode layer --temp 0.6 --jinja --flash-attn on
--no-webui --no-mmap""",
    "trtllm": """\
trtllm-serve org/m --port 8000 --tp_size 2 --max_seq_len 4096 --backend pytorch --trust_remote_code""",
}
DEFAULTS = {
    "vllm": {
        "served_model_name": '"a b"',
        "tensor_parallel": 2,
        "enable_prefix_caching": "false",
        "trust_remote_code": "true",
        "enforce_eager": "false",
        "speculative_config": "{method: mtp, n: 1}",
        "hf_overrides": """'{"a": "b c"}'""",
    },
    "sglang": {"max_model_len": 4096, "data_parallel": 1, "disable_radix_cache": "yes", "max_num_seqs": 4},
    "llama-cpp": {"flash_attn": "true", "jinja": "true", "temperature": 0.6, "webui": "false", "ctx_size": 8192},
    "trtllm": {"tensor_parallel": 2, "max_model_len": 4096, "trust_remote_code": "true"},
}


@pytest.mark.parametrize("runtime", MADE)
def test_a_command_is_made_from_the_defaults(runtime):
    lines = "".join(f"  {name}: {value}\n" for name, value in DEFAULTS[runtime].items())
    report = Report()
    text = f"model: org/m\nruntime: {runtime}\ncontainer: i\ndefaults:\n  port: 8000\n{lines}"
    recipe = read_recipe_file("two.yaml", text.encode(), report)
    assert report.diagnostics == ()
    line = MADE[runtime].replace("\n", " ")
    shell = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True)
    assert argv(recipe) == shell.stdout.split("\0")[:-1]
    assert argv(recipe, port="9")[argv(recipe).index("8000")] == "9"


@pytest.mark.parametrize(
    ("model", "flag"), [("org/m:Q4_K_M", "-hf"), ("/models/m.gguf", "-m"), ("x/m.GGUF", "-m"), ("m", "-m")]
)
def test_llama_takes_a_file_or_a_repository(model, flag):
    text = f"model: {model}\nruntime: llama-cpp\ncontainer: i\n"
    assert argv(read_recipe_file("two.yaml", text.encode(), Report()))[:3] == ["llama-server", flag, model]


@pytest.mark.parametrize(("model", "expected"), [("org/m", ["--revision", "abc"]), ("/models/m", [])])
def test_a_pinned_revision_reaches_the_engine(model, expected):
    text = f"model: {model}\nmodel_revision: abc\nruntime: vllm\ncontainer: i\ndefaults: {{port: 1}}\n"
    assert argv(read_recipe_file("two.yaml", text.encode(), Report()))[3:-4] == expected


def test_defaults_without_a_flag_are_warned_about():
    text = f"{HEAD}defaults:\n  max_model_ln: 5\n  zzz: 1\n"
    report = Report()
    recipe = read_recipe_file("two.yaml", text.encode(), report)
    assert argv(recipe) == ["vllm", "serve", "org/m", "--gpu-memory-utilization", "0.8"]
    assert [(item.code, item.severity, item.span.line) for item in report.diagnostics] == [
        ("SPK139", Severity.WARNING, 5),
        ("SPK139", Severity.WARNING, 6),
    ]
    assert report.diagnostics[0].hint == "did you mean 'max_model_len'?"


def test_options_that_sparkrun_files_are_warned_about():
    report = Report()
    text = "model: m\nruntime: trtllm\ncontainer: i\ndefaults:\n  free_gpu_memory_fraction: 0.9\n"
    read_recipe_file("two.yaml", text.encode(), report)
    (item,) = report.diagnostics
    assert (item.code, item.span.line) == ("SPK139", 5)
    assert "--extra_llm_api_options" in item.hint


NAMES = ["a", "b", "c", "d"]
PIECE = st.one_of(st.text("xyz-=/.:,", min_size=1, max_size=4), st.sampled_from(["{a}", "{b}", "{c}", "{d}", "{", "}"]))
VALUE = st.lists(PIECE, max_size=3).map("".join)


def substituted(text, values):
    """Replace known names until nothing changes, which is all that sparkrun does before a shell reads the text."""
    for _ in range(10):
        text = re.sub(r"\{([a-d])\}", lambda match: values[match[1]], text)
    return text


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_substituting_then_splitting_is_what_bash_sees(data):
    # A value names only parameters before it, so nothing contains itself.
    values = {}
    for name in NAMES:
        value = data.draw(VALUE)
        values[name] = re.sub(r"\{([a-d])\}", lambda match: match[0] if match[1] in values else "", value)
    parts = data.draw(st.lists(st.one_of(PIECE, st.sampled_from([" ", "'{c} {d}'", '"{d}{a}"'])), max_size=6))
    command = "vllm serve " + "".join(parts)
    assume(not any("{{" in text for text in (command, *values.values())))
    recipe, report = read({name: f"'{value}'" for name, value in values.items()}, command)
    shell = subprocess.run(
        ["bash", "-c", "set -f; set +B\n" + STUB + substituted(command, values)], capture_output=True, check=False
    )
    assume(not shell.stderr and not shell.returncode)
    # Unquoted JSON is refused although a shell would take it, without its quotes.
    assume("SPK123" not in [found.code for found in report.diagnostics])
    assert not report.failed
    assert argv(recipe) == shell.stdout.decode().split("\0")[:-1]


@settings(max_examples=200, deadline=None)
@given(st.text("vl ae{}-=\\\n'\"$`()<>|&;#", max_size=40), st.text("ae{} '\"$\\", max_size=10))
def test_any_text_is_a_command_or_an_error(text, value):
    report = Report()
    quoted = value.replace("'", "''")
    source = f"{HEAD}defaults:\n  a: '{quoted}'\n  e: '{{a}}'\ncommand: |2\n" + "".join(
        f"  {line}\n" for line in text.split("\n")
    )
    recipe = read_recipe_file("two.yaml", source.encode(), report)
    assert recipe is not None or report.failed
    if recipe is not None and isinstance(recipe.command, Script):
        fill(recipe.command.before, values_of(recipe))
