"""What a recipe says reaches the container byte for byte: argv through sh, the rest through the real Compose."""

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plan_factory import container, plan, rank, recipe_value

from sparkc.bundle.quoting import code, comment, md, sq, typed, word, yq
from sparkc.bundle.render import render
from sparkc.planning.model import Exec, Mount, Probe, Shell

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NASTY = [
    "  lead and trail  ",
    "a #b",
    "#x",
    "a: b",
    "*x",
    "!x",
    "%x",
    "@x",
    "`x`",
    'it\'s "q"',
    "a\\nb\\",
    "l1\nl2\n",
    "\ta\t",
    "ok 😀",
    "日本",
    "a\x85b",
    "end\x85",
    "a\u2028b",
    "\x1b[0m",
    "---",
    "<<",
    "=a:1,b:1",
    "{{.Node}}",
    " ",
    "",
    "1e6",
    "0899",
    "25921e05",
    "0o17",
    "NO",
    "null",
    "~",
    "$",
    "$$",
    "$1",
    "${X:-d}",
    "x${",
    "$(date)",
    "^lo,docker$",
    "p@ss$word",
    "a=b",
    "a\rb",
    "end\r",
    "\r",
    "a\x0bb\x0cc",
    "\x01\x7f",
    "\ufeffx",
    "\xa0x\xa0",
    "\u202ereversed",
    "export A=b",
    "'",
    "\\",
    "\\'",
    "\n",
    "\\\n",
    '"',
    "'\n'",
    "a'b'c",
    "!",
    "\U0010ffff",
    "x" * 59_999,
    "x" * 60_000,
    "é" * 30_000,
    "y" * 70_000,
]
LEAKS = {"X": "leak", "word": "leak", "V0": "leak", "COMPOSE_PROJECT_NAME": "leak"}


def files_with(**changes):
    return render(plan(rank(**changes)))


@pytest.mark.parametrize("shell", ["dash", "bash --posix", "busybox sh"])
def test_argv_reaches_the_engine_through_sh(launch, shell):
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"{shell} is not installed")
    words = ["-n", "--", *NASTY]
    done = launch(plan(rank(argv=("engine", *words))), shell=shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.argv == words


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(TEXT, min_size=1, max_size=30))
def test_any_argv_reaches_the_engine(launch, words):
    assert launch(plan(rank(argv=("engine", *words)))).argv == words


def test_environment_mounts_devices_labels_and_probe_reach_the_container(resolve):
    values = {f"V{number}": value for number, value in enumerate(NASTY)}
    paths = [f"/p/{value}" for value in NASTY if value]
    service = resolve(
        files_with(
            environment={key: recipe_value(value) for key, value in values.items()},
            mounts=tuple(
                Mount(recipe_value(path), recipe_value(f"/t{number}{path}"), True, False)
                for number, path in enumerate(paths)
                # Compose cleans paths: a trailing slash or "//" is the same place.
                if "/" not in path[3:]
            ),
            probe=Probe(("CMD", *NASTY), "http://x", 5, 10),
            container=container(
                image=recipe_value("registry.example/vllm@sha256:$HOME"), security_opt=(recipe_value("a=$X"),)
            ),
        ),
        **LEAKS,
    )
    assert service["environment"] == values
    assert [v["source"] for v in service["volumes"][1:]] == paths
    assert [v["target"] for v in service["volumes"][1:]] == [f"/t{number}{path}" for number, path in enumerate(paths)]
    assert service["healthcheck"]["test"] == ["CMD", *NASTY]
    assert service["image"] == "registry.example/vllm@sha256:$HOME"
    assert service["security_opt"] == ["a=$X"]
    assert service["container_name"] == service["labels"]["sparkc.bundle"] == "demo"


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXT, min_size=80, max_size=120))
def test_any_text_reaches_the_container(resolve, texts):
    values = {f"V{number}": text for number, text in enumerate(texts)}
    service = resolve(
        files_with(
            environment={key: recipe_value(value) for key, value in values.items()},
            probe=Probe(("CMD", *texts), "http://x", 5, 10),
        ),
        **LEAKS,
    )
    assert service["environment"] == values
    assert service["healthcheck"]["test"] == ["CMD", *texts]


def test_every_character_survives_both_ways_to_the_environment(resolve):
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    chunks = ["a" + "".join(map(chr, codes[start : start + 4096])) + "b" for start in range(0, len(codes), 4096)]
    values = {f"RAW{n}": chunk.replace("\n", "") for n, chunk in enumerate(chunks)}
    values |= {f"QUOTED{n}": f"{chunk}\n" for n, chunk in enumerate(chunks)}
    service = resolve(files_with(environment={key: recipe_value(value) for key, value in values.items()}))
    assert service["environment"] == values


def test_only_what_a_raw_line_cannot_hold_goes_to_compose_yaml():
    long = "x" * 60_000
    files = files_with(
        environment={
            k: recipe_value(v) for k, v in {"A": "a\nb", "B": "b\r", "C": long, "D": long[1:], "E": "a\rb"}.items()
        }
    )
    by_name = {file.path.rpartition("/")[2]: file.data.decode() for file in files}
    keys = [line.split("=")[0] for line in by_name["rank.env"].split("\n") if line and not line.startswith("#")]
    assert keys == ["D", "E"]
    assert (
        by_name["compose.yaml"]
        .split("    environment:\n")[1]
        .startswith('      "A": "a\\nb"\n      "B": "b\\r"\n      "C": "xx')
    )


def test_the_rank_folder_is_what_the_relative_source_means(resolve, tmp_path):
    mount = resolve(files_with())["volumes"][0]
    assert mount == {
        "type": "bind",
        "source": str(tmp_path / "demo/rank-0-spark-1"),
        "target": "/sparkc",
        "read_only": True,
        "bind": {"create_host_path": False},
    }


def test_a_script_is_kept_as_it_is_and_run_by_its_interpreter(launch):
    text = "#!/usr/bin/env bash\nengine \"$WORKSPACE_DIR\" '$X'  # tail\x85\n"
    process = Shell(recipe_value(text), "/usr/bin/env bash", (recipe_value("env"), recipe_value("X=a b")))
    files = render(plan(rank(process=process)))
    script = next(file for file in files if file.path.endswith("script.sh"))
    assert (script.data, script.mode) == (text.encode(), 0o755)
    done = launch(plan(rank(process=process)))
    assert done.argv[0].endswith("/image-workdir")
    assert done.argv[1:] == ["$X"]


@settings(max_examples=40, deadline=None)
@given(TEXT)
def test_pasted_commands_are_one_line_and_exact(text):
    quoted = word(text)
    assert len(quoted.splitlines()) == 1
    done = subprocess.run(
        ["bash", "-c", f"printf %s {quoted}"], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True
    )
    assert done.stdout.decode() == text


@given(TEXT)
def test_hostile_text_stays_on_its_line(text):
    assert not set("\n\r\x85\u2028\x1b\u202e").intersection(comment(text) + md(text) + code(text))
    assert "|" not in code(text).replace("\\|", "")


@pytest.mark.parametrize("quote", [yq, sq, comment, word, md, code])
@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_file_can_hold_is_refused(quote, text):
    with pytest.raises(ValueError, match="cannot be written"):
        quote(text)


@pytest.mark.parametrize(
    ("value", "expected"), [(True, "true"), (0, "0"), (-1, "-1"), ("60s", '"60s"'), ("1.5gb", '"1.5gb"')]
)
def test_typed_values(value, expected):
    assert typed(value) == expected


@pytest.mark.parametrize("value", ["1e9", "PT5M", "x", "", "1 2", None, 1.5])
def test_what_compose_would_drop_or_refuse_is_no_typed_value(value):
    with pytest.raises(ValueError, match="is no"):
        typed(value)


def test_exec_is_the_last_statement_with_one_word_per_line():
    launch = next(
        f for f in render(plan(rank(process=Exec((recipe_value("a"), recipe_value("it's")))))) if "launch" in f.path
    )
    assert launch.data.decode().endswith("\n\nexec \\\n  'a' \\\n  'it'\\''s'\n")
