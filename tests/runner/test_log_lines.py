"""Lines of logs, which come from anywhere, made fit to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.runner.log_lines import log_text, split_stamp


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;36m(EngineCore pid=97)\x1b[0;0m INFO ready", "(EngineCore pid=97) INFO ready"),
        ("Loading:  10%\rLoading:  50%\rLoading: 100%\r\n", "Loading: 100%"),
        ("\x1b]0;title\x07text", "\\x1b]0;title\\x07text"),
        ("::error::not a command of ours", "\\::error::not a command of ours"),
        ("", ""),
    ],
)
def test_text(line, shown):
    assert log_text(line) == shown


@given(st.text())
def test_text_is_always_one_printable_line(line):
    assert log_text(line).isprintable()


def test_stamps():
    stamp = "2026-11-30T10:00:00.123456789Z"
    assert split_stamp(f"{stamp} text  with spaces ") == (stamp, "text  with spaces ")
    assert split_stamp(f"{stamp} ") == (stamp, "")
    assert split_stamp(stamp) == (stamp, "")
    assert split_stamp("Error response from daemon: no such container") is None
