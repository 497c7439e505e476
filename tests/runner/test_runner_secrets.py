"""Secrets: exact values or an error, all missing ones at once, and never a value in a message."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.errors import SparkcError
from sparkc.runner.secrets import Secrets, find_secrets, read_secrets_file


@pytest.fixture
def secrets_file(tmp_path):
    def write(text, mode=0o600):
        path = tmp_path / "my secrets"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    return write


def test_the_environment_gives_them_in_the_order_of_the_bundle():
    secrets = find_secrets(("VLLM_API_KEY", "HF_TOKEN"), {"HF_TOKEN": "hf_1", "OTHER": "x", "VLLM_API_KEY": "k"}, None)

    assert secrets.text == "VLLM_API_KEY=k\nHF_TOKEN=hf_1\n"
    assert secrets.sha256 == hashlib.sha256(b"VLLM_API_KEY=k\nHF_TOKEN=hf_1\n").hexdigest()


def test_a_bundle_without_secrets_has_no_file():
    assert find_secrets((), {"HF_TOKEN": "hf_1"}, None) == Secrets({})
    assert Secrets({}).text == ""
    assert Secrets({}).sha256 is None


def test_a_value_does_not_show_in_a_repr():
    assert "hf_1" not in repr(Secrets({"HF_TOKEN": "hf_1"}))


def test_all_missing_ones_are_named_at_once():
    with pytest.raises(SparkcError) as caught:
        find_secrets(("A", "B", "C"), {"B": "x", "C": ""}, None)

    assert caught.value.message == "no value for the secrets A, C"
    assert "export A=" in caught.value.hint


def test_a_file_that_is_given_is_the_only_source(secrets_file):
    path = secrets_file("A=1\n")

    with pytest.raises(SparkcError) as caught:
        find_secrets(("A", "B"), {"B": "from the environment"}, path)

    assert caught.value.message == "no value for the secret B"
    assert str(path) in caught.value.hint


@pytest.mark.parametrize("value", ["two\nlines", "carriage\rreturn", "nul\0", "bell\a", "not utf-8 \udcff", "\u2028"])
def test_a_value_that_a_line_cannot_keep_is_refused_without_telling_it(value):
    with pytest.raises(SparkcError) as caught:
        find_secrets(("KEY",), {"KEY": value}, None)

    assert "the secret KEY holds" in caught.value.message
    assert value not in str(caught.value)


def test_values_in_a_file_are_the_rest_of_their_line(secrets_file):
    path = secrets_file('# mine\n\n  \nA=x=y # z\n  B = \' "$HOME"\nC=\n_d9=\tü \n')

    assert read_secrets_file(path) == {"A": "x=y # z", "B": ' \' "$HOME"', "C": "", "_d9": "\tü "}


def test_a_file_from_windows_is_read_as_it_was_meant(secrets_file):
    assert read_secrets_file(secrets_file(b"\xef\xbb\xbfA=1\r\nB=2\r\n")) == {"A": "1", "B": "2"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_use_is_refused_with_the_command(secrets_file, mode):
    path = secrets_file("A=1\n", mode)

    with pytest.raises(SparkcError) as caught:
        read_secrets_file(path)

    assert caught.value.hint == f"chmod 600 '{path}'"


@pytest.mark.parametrize(
    "line", ["hf_abcdef", "export A=hf_abcdef", "A B=hf_abcdef", "=hf_abcdef", "ä=hf_abcdef", "9A=hf_abcdef"]
)
def test_another_line_is_told_by_its_number_alone(secrets_file, line):
    path = secrets_file(f"# one\n{line}\n")

    with pytest.raises(SparkcError) as caught:
        read_secrets_file(path)

    assert caught.value.message == f"{path}:2: not NAME=VALUE"
    assert "hf_abcdef" not in str(caught.value)


@pytest.mark.parametrize("value", ['"hf_abcdef"', "'hf_abcdef'", '""'])
def test_quotes_around_a_value_are_a_mistake(secrets_file, value):
    with pytest.raises(SparkcError) as caught:
        read_secrets_file(secrets_file(f"HF_TOKEN={value}\n"))

    assert "the value of HF_TOKEN stands in quotes" in caught.value.message
    assert "hf_abcdef" not in str(caught.value)


def test_a_name_that_is_there_twice_is_refused(secrets_file):
    with pytest.raises(SparkcError, match="2: A is there twice"):
        read_secrets_file(secrets_file("A=1\nA=2\n"))


def test_a_file_that_is_not_there_or_not_text_is_an_error(secrets_file, tmp_path):
    with pytest.raises(SparkcError, match="No such file"):
        read_secrets_file(tmp_path / "none")
    with pytest.raises(SparkcError, match="is not UTF-8"):
        read_secrets_file(secrets_file(b"A=\xff\n"))


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), st.text(min_size=1), min_size=1))
def test_what_is_accepted_comes_back_from_the_text_unchanged(values):
    try:
        secrets = find_secrets(tuple(values), values, None)
    except SparkcError:
        return

    assert dict(line.split("=", 1) for line in secrets.text.split("\n")[:-1]) == values
