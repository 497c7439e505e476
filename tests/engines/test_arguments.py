"""Flags in argv words, by argparse's rules."""

import pytest

from sparkc.engines import arguments
from sparkc.traced import Traced, from_flag

PORT = ("--port", "-p")


def words(text):
    return tuple(Traced(word, from_flag(f"-- {word}")) for word in text.split())


def texts(found):
    return " ".join(word.value for word in found)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("--max-model-len", "--max-model-len"),
        ("--max_model_len=5", "--max-model-len"),
        ("--hf_overrides.rope_type", "--hf-overrides.rope_type"),
        ("--hf_overrides.a_b=c_d", "--hf-overrides.a_b"),
        ("-tp", "-tp"),
        ("-tp=2", "-tp"),
        ("-a_b", "-a_b"),
        ("-", None),
        ("--", None),
        ("serve", None),
        ("", None),
        ("a=--b", None),
    ],
)
def test_flag_names(word, name):
    assert arguments.flag_name(word) == name


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("--port 1", "1"),
        ("--port=1", "1"),
        ("--port=", ""),
        ("--port=a=b", "a=b"),
        ("-p 1 --port 2", "2"),
        ("--port 2 -p=1", "1"),
        ("--port -1", "-1"),
        ("--port --other 2", None),
        ("--port", None),
        ("--ports 2", None),
        ("", None),
    ],
)
def test_the_last_value_counts(text, value):
    found = arguments.last_value(words(text), PORT)
    assert (None if found is None else found.value) == value


def test_all_last_values_in_one_pass():
    found = arguments.last_values(words("run --a 1 --b --a=2 -tp 3 --c_d"))
    assert found == {"--a": "2", "--b": "--a=2", "-tp": "3", "--c-d": ""}
    assert arguments.last_values(()) == {}


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a --port 1 b", "a b"),
        ("a --port=1 b -p 2", "a b"),
        ("a --port --c", "a --c"),
        ("a b", "a b"),
    ],
)
def test_removing_a_flag(text, after):
    assert texts(arguments.without(words(text), PORT)) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a --port 1 b", "a --port 9 b"),
        ("a -p=1 b --port 2", "a -p=9 b --port 9"),
        ("a", "a --port 9"),
        ("a --port 9", "a --port 9"),
    ],
)
def test_setting_a_flag(text, after):
    value = Traced("9", from_flag("--port 9"))
    changed = arguments.with_value(words(text), PORT, value)
    assert texts(changed) == after
    if "1" in text:
        new = next(word for word in changed if "9" in word.value)
        assert (new.origin.text, new.overrode.value[-1]) == ("--port 9", "1")
