import pytest
from flag_tools import check, parse, said
from hypothesis import given
from hypothesis import strategies as st


def only(command, **where):
    found = check(command, **where)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "command",
    [
        "org/m --tensor-parallel-size 2 --port=8000",
        "org/m --tensor_parallel_size 2 --max_num-seqs=4",
        "org/m -tp 2 -pp=1 -n1 -q awq -qawq",
        "--enforce-eager org/m",
        "--model org/m --enforce-eager",
        "org/m --max-model-len -1 --seed -5",
        "org/m --served-model-name a b c --port 1234",
        "org/m -O3 --no-enable-prefix-caching",
        "org/m -O 2",
        "org/m --disable-prefix-caching --enable-log-requests",
        "org/m -cc.mode 3 --compilation-config.cudagraph_mode=PIECEWISE",
        "org/m --default-chat-template-kwargs '{\"enable_thinking\": false}'",
        "org/m --limit-mm-per-prompt.image 2",
        "org/m --middleware a --middleware b",
    ],
)
def test_what_vllm_takes_is_fine(command):
    assert check(command) == ()


def test_an_unknown_option_gets_the_nearest_name():
    found = only("org/m --max-modle-len 8192")
    assert (found.code, found.message) == ("SPK801", "vLLM 0.33.0 has no option --max-modle-len (given)")
    assert found.hint == "did you mean '--max-model-len'?"


@pytest.mark.parametrize(
    ("command", "version", "message", "hint"),
    [
        (
            "org/m --swap-space 4",
            "0.33.0",
            "vLLM 0.33.0 no longer has --swap-space: removed after 0.17.1, in 0.20.2 at the latest (given)",
            "remove it",
        ),
        (
            "org/m --task embed",
            "0.20.2",
            "vLLM 0.20.2 no longer has --task: removed after 0.11.0, in 0.13.0 at the latest (given)",
            "write --runner, and --convert for pooling models",
        ),
    ],
)
def test_a_removed_option_is_told_with_its_version(command, version, message, hint):
    found = only(command, version=version)
    assert (found.code, found.message, found.hint) == ("SPK802", message, hint)


def test_an_option_of_later_versions():
    found = only("org/m --watermark 0.1", version="0.20.2")
    assert found.message == "vLLM 0.20.2 has no option --watermark yet: 0.26.0 has it (given)"


def test_between_two_recorded_versions_an_option_of_the_later_one_is_a_note():
    found = only("org/m --log-level info", version="0.30.0")
    assert found.severity.value == "note"
    assert found.message.startswith("vLLM 0.29.0 has no option --log-level yet: 0.32.0 has it")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("org/m -tp2", "SPK801", "write -tp 2"),
        ("org/m --max-n 5", "SPK805", "write the full name"),
        ("org/m --tensor-parallel 2", "SPK804", "write --tensor-parallel-size"),
        ("org/m --port", "SPK806", "value"),
        ("org/m --port --host 0.0.0.0", "SPK806", "equals sign"),
        ("org/m --enforce-eager true", "SPK807", "write --enforce-eager alone"),
        ("org/m --enable-prefix-caching=false", "SPK807", "--no-enable-prefix-caching alone"),
        ("org/m --dtype.x 1", "SPK807", "write --dtype 1"),
        ("org/m extra", "SPK808", "quote"),
        ("org/m '--dtype auto'", "SPK808", "quote"),
        ("org/m --gpu-memory-utilization=0.9 --config=f.yaml", "SPK816", "two words"),
    ],
)
def test_faults_of_spelling(command, code, words):
    found = only(command)
    assert found.code == code
    assert words in found.hint


def test_a_negative_decimal_swallows_the_next_word():
    first, *others = check("org/m --gpu-memory-utilization -0.5 --port 8000")
    assert (first.code, first.hint) == ("SPK816", "write it with an equals sign: --flag=-0.5")
    assert first.message == "vLLM takes -0.5 for a dotted key and swallows the next word (--port) (given)"
    # What argparse then sees is --gpu-memory-utilization 8000.
    assert [one.code for one in others] == ["SPK811"]


def test_short_for_the_optimization_level_was_short_for_json_before():
    assert said("org/m -O3 --port 8000", version="0.11.0") == []
    assert said("org/m -O 3 --port 8000", version="0.11.0") == []
    assert said("org/m -O.level=3", version="0.11.0") == []
    assert said("org/m -O", version="0.11.0") == ["error SPK806"]


def test_sglang_does_not_read_underscores_and_knows_its_ambiguous_pp():
    found = only("--model-path m --tp_size 2", engine="sglang", version="0.5.23")
    assert (found.code, found.hint) == ("SPK801", "write --tp-size: this engine does not read _ as -")
    assert said("--model-path m --pp 2", "sglang", "0.5.23") == ["error SPK805"]
    assert said("--model-path m --tp 2", "sglang", "0.5.23") == ["warning SPK804"]
    assert said("--model-path m --tp-size 2 --dtype auto", "sglang", "0.5.5") == []


def test_the_last_of_two_names_of_an_option_counts():
    found = only("org/m -tp 2 --tensor-parallel-size 4")
    assert (found.code, found.severity.value) == ("SPK815", "warning")
    assert found.message == "--tensor-parallel-size and -tp are one option, of which the last one counts (given)"
    assert said("org/m -tp 2 --tensor-parallel-size 2") == []
    assert said("org/m --enable-prefix-caching --no-enable-prefix-caching") == ["warning SPK815"]


def test_values_belong_to_their_options():
    line, _, _ = parse("org/m --served-model-name a b -tp 2 --enable-lora")
    assert line.model.value == "org/m"
    assert [(use.option.name, [value.value for value in use.values]) for use in line.uses] == [
        ("--served-model-name", ["a", "b"]),
        ("--tensor-parallel-size", ["2"]),
        ("--enable-lora", []),
    ]


SAMPLES = [
    *("org/m", "-tp", "-tp2", "--", "-", "-0.5", "--x.y", "-cc.", "-cc.a+", "-cc.a.b=1", "--port=", "-O", "-O=", "="),
    *("--=", "--enable-lora", "--no-", "-1", "[1]", "{}", "--compilation-config", '{"a":', "-q", "--max-model-len"),
]
WORDS = st.one_of(st.sampled_from(SAMPLES), st.text(max_size=12))


@given(st.lists(WORDS, max_size=8), st.sampled_from(["0.11.0", "0.33.0"]))
def test_any_words_at_all_give_findings_and_no_traceback(words, version):
    from shlex import join

    check(join(words), version=version)
    check(join(words), engine="sglang", version="0.5.23")
