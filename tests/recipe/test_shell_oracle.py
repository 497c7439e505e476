"""A real bash decides what is right."""

import subprocess

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.node import Scalar
from sparkc.reading.source import Source, Span
from sparkc.recipe.model import Argv, Script
from sparkc.recipe.placeholders import fill, fill_shell
from sparkc.recipe.shell import parse_command


class Same(dict):
    """Every placeholder stands for its own source text."""

    def __missing__(self, name):
        return f"{{{name}}}"


# The stub prints its arguments, NUL-separated, and its name first.
STUB = "vllm() { printf '%s\\0' vllm \"$@\"; }\n"


def scalar(text):
    return Scalar(text, "quoted", Span(Source("r.yaml", text), 1, 1, 1, 1))


def parse(text, *, allow_script):
    report = Report()
    found = parse_command(scalar(text), "command", syntax="native", allow_script=allow_script, report=report)
    return found and found.command


def bash(text):
    done = subprocess.run(["bash", "-c", STUB + text], capture_output=True, check=False)
    return done.stdout.decode(errors="surrogateescape").split("\0")[:-1] if not done.stderr else None


PLAIN = st.text("ab-=./:,#%@+é", min_size=1, max_size=5)
QUOTED = st.text("ab \t\n#;&|<>()*'\"\\$`é{}~!", max_size=6)
SINGLE = QUOTED.map(lambda text: "'" + text.replace("'", "") + "'")
DOUBLE = st.text("ab \t#;&|<>()*'\\é{}~", max_size=6).filter(lambda t: not t.endswith("\\")).map(lambda t: f'"{t}"')
ESCAPED = st.sampled_from("ab'\"\\$`;&|<>()*# ").map(lambda char: f"\\{char}")
WORD = st.lists(st.one_of(PLAIN, SINGLE, DOUBLE, ESCAPED, st.just("\\\n")), min_size=1, max_size=4).map("".join)
GAP = st.sampled_from([" ", "\t", "  ", " \\\n", "\\\n ", " \\\n  \\\n\t"])


@st.composite
def simple_commands(draw):
    text = "vllm serve"
    for word in draw(st.lists(WORD, max_size=6)):
        text += draw(GAP) + word
    return text + draw(st.sampled_from(["", "\n", " # a 'comment", '\n# a "comment\n']))


@settings(max_examples=150)
@given(simple_commands())
def test_a_simple_command_gives_the_words_that_bash_gives(text):
    command = parse(text, allow_script=False)
    # Blanks after a backslash at a line end, or before a flag, are errors of ours that bash takes.
    assume(command is not None)
    assert isinstance(command, Argv)
    assert [fill(word.parts, Same()) for word in command.words] == bash(text)


EXPANSION = st.sampled_from(
    ["$X", '"$X"', "${X}", '"${X:-a b}"', "$(echo c d)", '"$(echo "c d" | cat)"', "`echo e`", "$((1 + 2))", "${A[@]}",
     "'$X'", "$'t\\tb'", '"a$"', "x$X'y'", "$(case x in x) echo y;; esac)"]
)  # fmt: skip
BEFORE = st.sampled_from(
    ["", "X='1 2'\n", "A=(--a 'b c')\n", "X=3; ", "cat >/dev/null <<E\nvllm serve no\nE\n", "true && ", "( true )\n",
     "if true; then\n", "for i in 1 2; do\n", "{ ", "# comment $X\n", "X=4 \\\n  "]
)  # fmt: skip
AFTER = st.sampled_from(["", "\n", " 2>&1 | cat", " >&1", " # end", "\n# end", " &\nwait", "; true", " || true\ntrue"])
CLOSERS = {"if true; then\n": "\nfi", "for i in 1 2; do\n": "\ndone", "{ ": "\n}"}


@st.composite
def scripts(draw):
    before = draw(BEFORE)
    words = draw(st.lists(st.one_of(EXPANSION, EXPANSION, WORD), min_size=1, max_size=4))
    return f"{before}vllm serve {' '.join(words)}{draw(AFTER)}{CLOSERS.get(before, '')}"


@settings(max_examples=150)
@given(scripts())
def test_a_script_put_together_again_does_what_its_source_does(text):
    command = parse(text, allow_script=True)
    expected = bash(text)
    assume(isinstance(command, Script) and expected is not None)
    assert command.engine
    engine = " ".join(fill_shell(word.shell, Same(), Report()) for word in command.engine)
    assert bash(fill(command.before, Same()) + engine + fill(command.after, Same())) == expected


@settings(max_examples=100)
@given(scripts())
def test_a_flag_after_the_engines_last_word_reaches_the_engine(text):
    command = parse(text, allow_script=True)
    expected = bash(text)
    assume(isinstance(command, Script) and expected)
    engine = " ".join(fill_shell(word.shell, Same(), Report()) for word in command.engine)
    found = bash(fill(command.before, Same()) + engine + " --node-rank 1" + fill(command.after, Same()))
    assert found[-2:] == ["--node-rank", "1"]


@settings(max_examples=500)
@given(st.text("vl ae-=\\\n'\"$`(){}<>|&;#", max_size=40), st.booleans(), st.sampled_from(["v1", "native"]))
def test_any_text_is_a_command_or_an_error(text, allow_script, syntax):
    report = Report()
    found = parse_command(scalar(text), "command", syntax=syntax, allow_script=allow_script, report=report)
    assert found is not None or report.failed
