"""Flags given twice, in whatever dialect and from whatever place."""

import pytest

from support.compile_text import compile_text, native, v1

SM121 = f"""\
engine = "vllm"
docker_image = "i@sha256:{"0" * 64}"
model = "/models/m"
args = [
"--a", "1",
"--b",
"--a 2",
"--b",
"--a", "1",
]
"""


def doubled(compiled):
    return [found for found in compiled.report.diagnostics if found.code == "SPK127"]


def test_one_warning_each_with_all_places_and_the_words_as_written():
    compiled = compile_text(SM121, name="demo.toml")
    assert compiled.argv()[3:] == ["--a", "1", "--b", "--a", "2", "--b", "--a", "1"]
    first, second = doubled(compiled)
    assert (first.severity.value, first.span.line) == ("warning", 9)
    assert first.message == "--a is given 3 times, with different values, of which the last one counts: 1"
    assert [place.span.line for place in first.related] == [5, 7]
    assert second.message == "--b is given 2 times, alike"


@pytest.mark.parametrize("nodes", ["-tp 1", "-tp 2"])
def test_spellings_of_one_flag(nodes):
    compiled = compile_text(v1(f"vllm serve org/m --a_b 1 {nodes} --a-b=2"))
    (warning,) = doubled(compiled)
    assert "--a-b is given 2 times, with different values, of which the last one counts: 2" in warning.message
    assert warning.related[0].span.column == 20


def test_a_native_recipe_and_the_command_line():
    compiled = compile_text(native("args: [--seed, '1', --x=2]"), arguments=("--seed", "3", "--x", "2"))
    first, second = doubled(compiled)
    assert first.message.endswith("the last one counts: 3 (-- --seed)")
    assert [place.span.line for place in first.related] == [7]
    assert second.message == "--x is given 2 times, alike (-- --x)"


def test_in_a_script():
    assert len(doubled(compile_text(v1("vllm serve m --a 1 --a 2 | tee x")))) == 1


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m --middleware a --middleware b",
        "vllm serve m --c.list+ a --c.list+ b",
        "vllm serve m --c.a 1 --c.b 1",
        "vllm serve m --x -1 --y -1",
        "run -e A -e B",
    ],
)
def test_what_may_stand_twice(command):
    assert doubled(compile_text(v1(command))) == []
