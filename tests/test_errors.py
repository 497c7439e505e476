"""SparkcError formats itself."""

from __future__ import annotations

from sparkc.errors import SparkcError


def test_only_the_message_is_needed() -> None:
    assert str(SparkcError("cannot write out/x")) == "cannot write out/x"


def test_every_fact_has_its_line() -> None:
    error = SparkcError(
        "docker compose failed",
        command="docker compose up -d",
        host="spark-1",
        exit_code=125,
        output="\nline one\nline two\n",
        hint="run sparkc doctor",
    )
    assert str(error) == (
        "spark-1: docker compose failed\n"
        "  command: docker compose up -d\n"
        "  exit code: 125\n"
        "  output:\n"
        "    line one\n"
        "    line two\n"
        "  help: run sparkc doctor"
    )


def test_exit_code_zero_is_told_and_empty_output_is_not() -> None:
    assert str(SparkcError("odd", exit_code=0, output="  \n")) == "odd\n  exit code: 0"
