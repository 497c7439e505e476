"""The whole check on recipes: where findings stand, and how sure they are."""

import pytest

from sparkc.diagnostics import Report
from sparkc.flags.check import check_command
from sparkc.planning.parameters import Parameters
from sparkc.planning.words import fill_words
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Argv
from sparkc.traced import Traced, from_flag

RELEASE = "vllm/vllm-openai:v0.33.0"


def found(command, image=RELEASE, *, mods=(), env=(), engine="vllm", **defaults):
    report = Report()
    lines = ["recipe_version: '1'", "name: demo", f"container: {image}", "command: |"]
    lines += [f"  {line}" for line in command.splitlines()]
    recipe = read_recipe_file("demo.yaml", "\n".join([*lines, ""]).encode(), Report())
    command = recipe.command
    values: Parameters = {name: Traced(value, from_flag(name)) for name, value in defaults.items()}
    words = fill_words(command.words if isinstance(command, Argv) else command.engine, values, report)
    environment = {name: Traced("1", from_flag(f"-e {name}")) for name in env}
    check_command(engine, recipe, words, environment, mods, report)
    return report.diagnostics


def native(version, image, *args):
    report = Report()
    text = [
        "sparkc: 1",
        "name: demo",
        "engine: vllm",
        f"image: {image}",
        "model: org/m",
        f"engine_version: '{version}'",
    ]
    recipe = read_recipe_file("demo.yaml", "\n".join([*text, ""]).encode(), Report())
    words = tuple(Traced(word, from_flag(word)) for word in ("vllm", "serve", "org/m", *args))
    check_command("vllm", recipe, words, {}, (), report)
    return report.diagnostics


def test_a_finding_stands_at_its_word():
    (one,) = found("vllm serve org/m \\\n  --max-num-seqs 8 \\\n  --nope 1")
    assert (one.code, one.severity.value) == ("SPK801", "error")
    assert (one.span.line, one.span.column, one.span.end_column) == (7, 5, 11)


@pytest.mark.parametrize(
    ("image", "severity"),
    [(RELEASE, "error"), ("eugr/spark-vllm:latest", "note"), ("vllm/vllm-openai:latest", "note")],
)
def test_only_the_release_itself_is_known_completely(image, severity):
    assert [one.severity.value for one in found("vllm serve org/m --nope 1", image)] == [severity]


def test_without_a_version_everything_is_a_note_that_says_why():
    findings = found("vllm serve org/m --nope 1 --max-num-seqs x --port", "vllm-node")
    assert {one.severity.value for one in findings} == {"note"}
    assert findings[0].message == "vLLM 0.33.0 has no option --nope (assumed: nothing says which version the image has)"


def test_a_declared_version_of_another_build_knows_types_but_not_names():
    findings = native("0.32.0", "eugr/spark-vllm:1", "--nope", "1", "--max-num-seqs", "x", "--load-format", "b12x")
    assert [(one.severity.value, one.code) for one in findings] == [
        ("note", "SPK801"),
        ("error", "SPK810"),
        ("note", "SPK809"),
    ]


def test_recipe_and_tag_that_name_two_versions():
    (one,) = native("0.32.0", RELEASE)
    assert (one.code, one.severity.value) == ("SPK823", "warning")
    assert one.message == "engine_version is 0.32.0, but the image's tag says 0.33.0"
    assert native("0.33", RELEASE) == ()


def test_mods_may_bring_options():
    command = "vllm serve org/m --gpu-memory-utilization-gb 108"
    (one,) = found(command)
    assert (one.severity.value, one.hint) == (
        "error",
        "write the fraction of memory with --gpu-memory-utilization, or add the mod gpu-mem-util-gb",
    )
    assert [one.severity.value for one in found(command, mods=["drop-caches"])] == ["error"]
    assert [one.severity.value for one in found(command, mods=["somebodys"])] == ["note"]
    assert found(command, mods=["gpu-mem-util-gb"]) == ()


def test_variables_that_the_version_does_not_read():
    known = ["VLLM_HOST_IP", "NCCL_DEBUG", "VLLM_LOGGING_LEVEL"]
    assert found("vllm serve org/m", env=known) == ()
    (gone,) = found("vllm serve org/m", env=["VLLM_SLEEP_WHEN_IDLE"])
    assert (gone.code, gone.severity.value) == ("SPK822", "warning")
    assert gone.message.startswith("vLLM 0.33.0 does not read VLLM_SLEEP_WHEN_IDLE: removed after 0.17.1, in 0.20.2")
    (typo,) = found("vllm serve org/m", env=["VLLM_LOGING_LEVEL"])
    assert typo.hint == "did you mean 'VLLM_LOGGING_LEVEL'?"


def test_variables_of_another_build_are_one_note():
    (note,) = found("vllm serve org/m", "vllm-node", env=["VLLM_MINE_ALONE_A", "VLLM_MINE_ALONE_B"])
    assert note.severity.value == "note"
    assert "VLLM_MINE_ALONE_A, VLLM_MINE_ALONE_B" in note.message


def test_values_of_a_shell_are_not_judged():
    script = 'export N=8\nvllm serve org/m --max-num-seqs "$N" --speculative-config "$SPEC" --max-loras x'
    assert [(one.code, one.message) for one in found(script)] == [
        ("SPK810", "--max-loras takes a whole number, got 'x'")
    ]


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m vllm.entrypoints.openai.api_server --model org/m --max-num-seqs x",
        "numactl -N 0 vllm serve org/m --max-num-seqs x",
        "/opt/entrypoint.sh serve org/m --max-num-seqs x",
    ],
)
def test_every_way_to_start_vllm_is_read(command):
    assert [one.code for one in found(command)] == ["SPK810"]


def test_other_commands_and_engines_are_left_alone():
    assert found("python3 train.py --nope") == ()
    assert found("vllm serve org/m --nope", engine="plain") == ()


def test_sglang():
    command = "python3 -m sglang.launch_server --model-path m --tp_size 2"
    (one,) = found(command, "lmsysorg/sglang:v0.5.23", engine="sglang")
    assert (one.code, one.severity.value) == ("SPK801", "error")


def test_a_port_is_judged_by_the_engine_except_in_a_script():
    assert found("vllm serve org/m --port x") == ()
    assert [one.code for one in found("export A=1\nvllm serve org/m --port x")] == ["SPK810"]
