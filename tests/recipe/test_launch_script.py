"""Launch scripts: kept as they are, rank flags at the engine's command. A real bash decides what they do."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkc.diagnostics import Report, Severity
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Argv, Script, Text


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    """Run a text where `vllm` is a program that prints its arguments, NUL-separated."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "vllm").write_text("#!/bin/sh\nprintf '%s\\0' vllm \"$@\"\n")
    (folder / "vllm").chmod(0o755)

    def run(text):
        done = subprocess.run(
            ["bash", "-c", f"PATH={folder}:$PATH\n{text}"], capture_output=True, check=False, text=True
        )
        assert done.stderr == ""
        return done.stdout

    return run


def read(text, name="scripts/qwen.sh"):
    report = Report()
    return read_recipe_file(name, text.encode(), report), report


def plain(parts):
    assert all(isinstance(part, Text) for part in parts)
    return "".join(part.text for part in parts)


def put_together(script, *more):
    engine = " ".join([*(plain(word.shell) for word in script.engine), *more])
    return f"{plain(script.before)}{engine}{plain(script.after)}"


HEADER = "#!/bin/bash\n# PROFILE: Qwen on two\n#   DESCRIPTION:  serves it  \n# other\n"
EXPORTS = 'export A=1\nexport B="x $A"\n\nvllm serve m \\\n  -tp 2 --port 8000  # the end\n'
HEREDOC = """cat > /dev/null <<'EOF'
vllm serve not-me {x}
# DESCRIPTION: no
EOF
MODEL=org/m
exec vllm serve "$MODEL" --spec '{"n":{k}}' 2>&1 | cat
"""
FUNCTION = "set -euo pipefail\nrun() { true; }\nrun\nif true; then\n  vllm serve m ${X:-a b} || exit 1\nfi\nwait\n"


def test_names_and_descriptions_stand_in_the_comments_at_the_top():
    recipe, report = read(HEADER + EXPORTS)
    assert (recipe.dialect, recipe.title, recipe.description) == ("launch-script", "Qwen on two", "serves it")
    assert (recipe.base_name.value, recipe.engine.value, recipe.image.value) == ("qwen", "vllm", "vllm-node")
    assert [(item.code, item.severity) for item in report.diagnostics] == [
        ("SPK119", Severity.WARNING),
        ("SPK144", Severity.NOTE),
    ]
    assert "--image" in report.diagnostics[1].hint
    assert recipe.command.shebang == "/bin/bash"
    assert recipe.defaults == {}
    recipe, _ = read(HEREDOC)
    assert (recipe.title, recipe.description) == ("qwen", "")


@pytest.mark.parametrize("text", [EXPORTS, HEREDOC, FUNCTION, EXPORTS.replace("\n", "\r\n")])
def test_a_script_put_together_again_is_the_script(text, bash):
    recipe, _ = read(text)
    assert isinstance(recipe.command, Script)
    text = text.replace("\r\n", "\n")
    # Line ends within the engine's command are joined.
    assert put_together(recipe.command).split() == text.replace("\\\n", "").split()
    assert bash(put_together(recipe.command)) == bash(text)


@pytest.mark.parametrize("text", [EXPORTS, HEREDOC, FUNCTION])
def test_rank_flags_go_to_the_engine_and_nowhere_else(text, bash):
    recipe, _ = read(text)
    assert recipe.engine.value == "vllm"
    marked = put_together(recipe.command, "--node-rank", "1")
    assert bash(marked) == bash(text) + "--node-rank\x001\0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/bash\nvllm serve m --spec '{\"n\": 1}' {x} {{y}}\n", ["vllm", "serve", "m", "--spec", '{"n": 1}']),
        ("# x\nexec vllm serve m \\\n  # not a flag\n", ["vllm", "serve", "m"]),
    ],
)
def test_one_simple_command_is_an_exact_argv(text, expected):
    recipe, report = read(text)
    assert isinstance(recipe.command, Argv)
    assert [plain(word.parts) for word in recipe.command.words][: len(expected)] == expected
    assert [item.code for item in report.diagnostics] == ["SPK144"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("vllm serve ~/m\n", Script),
        ("HF_HOME=~/x vllm serve m\n", Script),
        ("vllm serve '~/m' --a=~/b x~\n", Argv),
        ("A='~' vllm serve m\n", Argv),
    ],
)
def test_a_home_that_a_shell_would_find_keeps_the_script(text, kind):
    recipe, _ = read(text)
    assert isinstance(recipe.command, kind)


def test_assignments_before_one_command_are_environment():
    recipe, _ = read("A=1 B='x y' vllm serve m\n")
    assert {key: plain(value.value) for key, value in recipe.env.items()} == {"A": "1", "B": "x y"}


def test_the_last_of_several_engine_commands_gets_the_flags():
    recipe, report = read("vllm serve a &\nvllm serve b\n")
    assert [plain(word.parts) for word in recipe.command.engine] == ["vllm", "serve", "b"]
    assert "SPK125" in [item.code for item in report.diagnostics]


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("sglang serve --model-path m\n", "sglang"),
        ("export A=1\npython3 -m sglang.launch_server --model-path m\n", "sglang"),
        ("numactl -N 0 llama-server -m /m.gguf\n", "llama-cpp"),
        ("trtllm-serve m\n", "trtllm"),
        ("uvicorn app:app\n", "plain"),
    ],
)
def test_the_program_decides_the_engine(text, engine):
    recipe, report = read(text)
    assert recipe.engine.value == engine
    assert ("SPK133" in [item.code for item in report.diagnostics]) == (engine == "plain")


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("#!/bin/bash\n# nothing\n", "SPK118", 1, 1),
        ("vllm serve m 'open\n", "SPK111", 1, 14),
        ("#!/bin/bash\nvllm serve m\n  --port 8000\n", "SPK114", 2, 12),
        ("vllm serve m \\ \n  --port 1\n", "SPK115", 1, 14),
    ],
)
def test_faults_have_their_place_in_the_script(text, code, line, column):
    recipe, report = read(text)
    assert recipe is None
    first = report.diagnostics[0]
    assert (first.code, first.span.line, first.span.column) == (code, line, column)


@settings(max_examples=300, deadline=None)
@given(st.text("vl ae{}-=\\\n'\"$`()<>|&;#!/", max_size=60))
def test_any_text_is_a_script_or_an_error(text):
    recipe, report = read(text)
    assert recipe is not None or report.failed
