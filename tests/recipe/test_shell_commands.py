"""Command text becomes exact argv items, a script with a reason, or a located error."""

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.reading.read import read_document
from sparkc.recipe.model import Argv, Param, Script, Text
from sparkc.recipe.shell import parse_command


def parse(command, syntax="native", *, allow_script=False):
    text = "command: |\n" + "".join(f"  {line}\n" for line in command.split("\n"))
    report = Report()
    document = read_document("r.yaml", text.encode(), report)
    assert not report.failed
    node = document.root.get("command")
    return parse_command(node, "command", syntax=syntax, allow_script=allow_script, report=report), report


def foreign(command):
    return parse(command, "v1", allow_script=True)


def shown(parts):
    return "".join(part.text if isinstance(part, Text) else f"<{part.name}:{part.context}>" for part in parts)


def words(parsed):
    assert isinstance(parsed.command, Argv)
    return [shown(word.parts) for word in parsed.command.words]


def errors(report):
    return [(found.code, found.span.line, found.span.column) for found in report.diagnostics]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vllm serve org/m \\\n  --port 8000", ["vllm", "serve", "org/m", "--port", "8000"]),
        ("a 'b c' \"d e\" f\\ g h'i'\"j\"", ["a", "b c", "d e", "f g", "hij"]),
        ("a \"\" '' b", ["a", "", "", "b"]),
        ("a lo\\\nng 'two\nlines'", ["a", "long", "two\nlines"]),
        ('a "x\\"y\\\\z\\$\\n"', ["a", 'x"y\\z$\\n']),
        ("a * ? [x] ~/b {c,d} $ a#b", ["a", "*", "?", "[x]", "~/b", "{c,d}", "$", "a#b"]),
        ("a '{\"k\": [1, 2]}'", ["a", '{"k": [1, 2]}']),
        ("# first\na b\n# last", ["a", "b"]),
        ("a b # why", ["a", "b"]),
        ("exec a b", ["a", "b"]),
        ("'A'=1 B=2", ["A=1", "B=2"]),
        ('a "$\'x"', ["a", "$'x"]),
        ("'exec' a", ["exec", "a"]),
        ("a '^x$' \\$HOME \"\\`\"", ["a", "^x$", "$HOME", "`"]),
        ("a b \\", ["a", "b"]),
    ],
)
def test_one_simple_command_is_an_exact_argv(command, expected):
    parsed, report = parse(command)
    assert words(parsed) == expected
    assert report.diagnostics == ()


def test_a_word_comes_from_its_own_place():
    parsed, _ = parse("vllm serve \\\n  --served-model-name 'a b'")
    spans = [(w.origin.span.line, w.origin.span.column, w.origin.span.end_column) for w in parsed.command.words]
    assert spans == [(2, 3, 7), (2, 8, 13), (3, 5, 24), (3, 25, 30)]
    assert {w.origin.text for w in parsed.command.words} == {"r.yaml: command"}


def test_placeholders_never_split_in_native_text_and_split_outside_quotes_in_v1():
    native, _ = parse("a {x} \"{y}\" '{z}' --k={n}")
    assert words(native) == ["a", "<x:data>", "<y:data>", "<z:data>", "--k=<n:data>"]
    v1, _ = foreign("a {x} \"{y}\" '{z}' --k={n}")
    assert words(v1) == ["a", "<x:words>", "<y:data>", "<z:data>", "--k=<n:words>"]


@pytest.mark.parametrize("allow_script", [False, True])
def test_leading_assignments_become_environment(allow_script):
    parsed, report = parse("A=1 B='x {p}' C= exec prog D=2", allow_script=allow_script)
    assert words(parsed) == ["prog", "D=2"]
    assert {key: shown(value.value) for key, value in parsed.env.items()} == {"A": "1", "B": "x <p:data>", "C": ""}
    assert (parsed.env["B"].origin.span.line, parsed.env["B"].origin.span.column) == (2, 7)
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    "command",
    [
        "bash -c \"vllm serve m --x 'a b'\"",
        "sh -c 'vllm serve m --x \"a b\"'",
        "/bin/bash -lc 'exec vllm serve m --x \"a b\"'",
        "bash -l -i -c 'vllm serve m --x \"a b\"'",
        "exec bash -ec 'vllm serve m --x a\\ b'",
        "bash -o pipefail -c 'vllm serve m --x a\\ b'",
    ],
)
def test_bash_c_of_one_simple_command_is_unwrapped(command):
    for allow_script in (False, True):
        parsed, report = parse(command, allow_script=allow_script)
        assert words(parsed) == ["vllm", "serve", "m", "--x", "a b"]
        assert report.diagnostics == ()


def test_bash_c_around_placeholders_and_environment():
    parsed, _ = foreign("A=1 bash -c 'B=2 vllm serve {m} \"{n}\"'")
    assert words(parsed) == ["vllm", "serve", "<m:words>", "<n:data>"]
    assert {key: shown(value.value) for key, value in parsed.env.items()} == {"A": "1", "B": "2"}


def test_bash_c_with_more_stays_an_argument_in_native_text_and_is_a_script_elsewhere():
    command = "bash -euo pipefail -c 'export A=1; vllm serve m'"
    native, report = parse(command)
    assert words(native) == ["bash", "-euo", "pipefail", "-c", "export A=1; vllm serve m"]
    assert report.diagnostics == ()
    script, _ = foreign(command)
    assert shown(script.command.before) == "set -euo pipefail\nexport A=1; "
    assert [shown(word.shell) for word in script.command.engine] == ["vllm", "serve", "m"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pip install x && vllm serve m", [("SPK112", 2, 17)]),
        ("a > log", [("SPK112", 2, 5)]),
        ("a | b", [("SPK112", 2, 5)]),
        ("a --url http://h/?x=1&y=2", [("SPK112", 2, 24)]),
        ("a \\\n  # tuned\n  --port 1", [("SPK113", 3, 5)]),
        ("a\n  --port 1", [("SPK114", 2, 3)]),
        ("a \\ \n  --port 1", [("SPK115", 2, 5)]),
        ("a \\  ", [("SPK115", 2, 5)]),
        ("a $HOME", [("SPK116", 2, 5)]),
        ('a "x${{HOME}}"', [("SPK116", 2, 7)]),
        ("a `date`", [("SPK116", 2, 5)]),
        ('a "$(date)"', [("SPK116", 2, 6)]),
        ("a $'x'", [("SPK116", 2, 5)]),
        ("eval 'vllm serve m'", [("SPK117", 2, 3)]),
        ("a 'b", [("SPK111", 2, 5)]),
        ('a "b', [("SPK111", 2, 5)]),
        ("a $(b", [("SPK111", 2, 6)]),
        ("A=1 B=2", [("SPK118", 1, 10)]),
        ("# nothing", [("SPK118", 1, 10)]),
        ('a {"k":1}', [("SPK123", 2, 5)]),
        ('a --c={"k":1}', [("SPK123", 2, 5)]),
        ("a \\ --port 1", [("SPK124", 2, 5)]),
        ("a \\ org/m", [("SPK124", 2, 5)]),
        ("a " + "$(" * 2000, [("SPK135", 2, 85)]),
    ],
)
def test_native_text_that_needs_a_shell_or_is_broken_is_a_located_error(command, expected):
    parsed, report = parse(command)
    assert errors(report) == expected
    assert all(found.severity is Severity.ERROR and found.hint for found in report.diagnostics)
    assert expected[0][0] in {"SPK123", "SPK124"} or parsed is None


def test_native_text_offers_the_list_form():
    _, report = parse("a && b | c; $X")
    assert [found.code for found in report.diagnostics] == ["SPK112", "SPK116"]
    assert all("[bash, -c, " in found.hint for found in report.diagnostics)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vllm serve m\n  --port 1", [("SPK114", 2, 14)]),
        ("vllm serve m \\  \n  --port 1", [("SPK115", 2, 16)]),
        ("vllm serve m \\\n  # --old 1 \\\n  --port 1", [("SPK113", 3, 5)]),
        ("vllm serve m \\\n  # --old 1 \\\n  --port 1\nwait", [("SPK113", 3, 5)]),
        ("vllm serve ${m}", [("SPK126", 2, 14)]),
    ],
)
def test_foreign_text_with_a_broken_continuation_is_a_located_error(command, expected):
    parsed, report = foreign(command)
    assert parsed is None
    assert errors(report) == expected


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m \\\n\n  --port 1",
        "vllm serve m \\\n  \\\n  --port 1",
        "vllm serve m --port 1 \\",
        "vllm serve m --port 1 \\ ",
        "vllm serve m --port 1 \\\n \\\n\n",
        "\n\nvllm serve m --port 1",
        "vllm serve m --port 1 \\\n  #--old 2",
        "# why\nvllm serve m --port 1",
    ],
)
def test_v1_lines_of_blanks_and_backslashes_join(command):
    parsed, report = foreign(command)
    assert words(parsed) == ["vllm", "serve", "m", "--port", "1"]
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    ("command", "at", "reason"),
    [
        ("/x && vllm serve m", (2, 6), "`&&` is a shell operator"),
        ("vllm serve $M", (2, 14), "`$M` is expanded by a shell"),
        ("export A=1\nvllm serve m", (2, 3), "`export` is a command of the shell itself"),
        ("export A=$X; vllm serve m", (2, 3), "`export` is a command"),
        ("bash -c 'a; b'", (2, 13), "`;` is a shell operator"),
        ("sleep 1\nvllm serve m", (3, 3), "a second command starts here"),
    ],
)
def test_foreign_text_that_needs_a_shell_is_a_script_with_one_reason(command, at, reason):
    parsed, report = foreign(command)
    assert isinstance(parsed.command, Script)
    (warning,) = report.diagnostics
    assert (warning.code, warning.severity) == ("SPK119", Severity.WARNING)
    assert (warning.span.line, warning.span.column) == at
    assert reason in warning.message


@pytest.mark.parametrize(
    ("command", "before", "engine", "after"),
    [
        ("cd /x && exec vllm serve m --x 1", "cd /x && exec ", ["vllm", "serve", "m", "--x", "1"], ""),
        ("A=1 vllm serve $M > log 2>&1", "A=1 ", ["vllm", "serve", "$M"], " > log 2>&1"),
        ("vllm serve $M > log --x", "", ["vllm", "serve", "$M"], " > log --x"),
        ("vllm serve m 2>&1 | tee log", "", ["vllm", "serve", "m"], " 2>&1 | tee log"),
        ("vllm serve m & # bg\nwait", "", ["vllm", "serve", "m"], " & # bg\nwait"),
        ("vllm serve m \\\n  --x 1 # --y 2\nwait", "", ["vllm", "serve", "m", "--x", "1"], " # --y 2\nwait"),
        ("python3 -m vllm.entrypoints.openai.api_server --x; b", "",
         ["python3", "-m", "vllm.entrypoints.openai.api_server", "--x"], "; b"),
        ("python -m sglang.launch_server $A", "", ["python", "-m", "sglang.launch_server", "$A"], ""),
        ("numactl -N 0 vllm serve $M", "numactl -N 0 ", ["vllm", "serve", "$M"], ""),
        ("if true; then\n  vllm serve m\nfi", "if true; then\n  ", ["vllm", "serve", "m"], "\nfi"),
        ("A=(\n  --x\n  --y 'z' # c\n)\nvllm serve m \"$A\"", "A=(\n  --x\n  --y 'z' # c\n)\n",
         ["vllm", "serve", "m", '"$A"'], ""),
        ("case $1 in\n  --x) a;;\nesac\nvllm serve m", "case $1 in\n  --x) a;;\nesac\n", ["vllm", "serve", "m"], ""),
        ("cat <<'E'\nvllm serve no\nE\nvllm serve m", "cat <<'E'\nvllm serve no\nE\n", ["vllm", "serve", "m"], ""),
        ("vllm serve $(cat <<E\na) b\nE\n) --x", "", ["vllm", "serve", "$(cat <<E\na) b\nE\n)", "--x"], ""),
        ("echo vllm serve m; uvicorn x:app", "echo vllm serve m; uvicorn x:app", [], ""),
    ],
)  # fmt: skip
def test_the_engine_command_is_found_in_a_script(command, before, engine, after):
    parsed, _ = parse(command, allow_script=True)
    script = parsed.command
    assert [shown(word.shell) for word in script.engine] == engine
    assert shown(script.before).rstrip("\n") == before.rstrip("\n")
    assert shown(script.after).rstrip("\n") == after
    assert script.shebang == "/bin/bash"


def test_placeholders_in_a_script_know_their_quotes_and_comments_keep_them_as_text():
    command = 'echo {a} "{b}" \'{c}\' # {d}\ncat <<E >x\n{e}\nE\ncat <<\'E\' >x\n{f}\nE\nvllm serve "$(x "{g}" {h})"'
    script = foreign(command)[0].command
    assert shown(script.before) == (
        "echo <a:words> \"<b:double>\" '<c:single>' # {d}\ncat <<E >x\n<e:heredoc>\nE\ncat <<'E' >x\n<f:data>\nE\n"
    )
    assert shown(script.engine[2].shell) == '"$(x "<g:double>" <h:words>)"'
    assert {part.context for part in script.engine[2].parts if isinstance(part, Param)} == {"data"}


def test_v1_scripts_lose_the_lines_that_the_launcher_drops():
    script = foreign("echo a \\\n\n  b\n \\\ncat <<E\n\nE\nvllm serve m")[0].command
    assert shown(script.before) == "echo a \\\n  b\ncat <<E\n\nE\n"


def test_a_shebang_becomes_the_scripts_interpreter():
    script = parse("#!/usr/bin/env -S bash -e\nA=$B\nvllm serve m", allow_script=True)[0].command
    assert script.shebang == "/usr/bin/env -S bash -e"
    assert shown(script.before) == "A=$B\n"


def test_several_engine_commands_are_a_warning_and_the_last_one_counts():
    parsed, report = foreign("vllm serve a || vllm serve b")
    assert shown(parsed.command.engine[2].parts) == "b"
    warning = next(found for found in report.diagnostics if found.code == "SPK125")
    assert [(place.span.line, place.span.column) for place in warning.related] == [(2, 3)]


@pytest.mark.parametrize(
    ("item", "code_point"),
    [
        ("\u2013port", "U+2013 EN DASH"),
        ("\u201cx\u201d", "U+201C LEFT DOUBLE QUOTATION MARK"),
        ("a\u00a0b", "U+00A0 NO-BREAK SPACE"),
    ],
)
def test_typographic_characters_are_a_warning_and_stay(item, code_point):
    parsed, report = parse(f"vllm serve {item}")
    assert words(parsed)[-1] == item
    (warning,) = report.diagnostics
    assert (warning.code, warning.severity, warning.span.column) == ("SPK120", Severity.WARNING, 14)
    assert code_point in warning.message


def test_an_unwrapped_command_is_checked_too():
    assert [found.code for found in parse("bash -c 'a \u2013x'")[1].diagnostics] == ["SPK120"]


def test_a_dash_inside_a_text_is_nobodys_mistake():
    assert parse("a 'x \u2013 y'")[1].diagnostics == ()
