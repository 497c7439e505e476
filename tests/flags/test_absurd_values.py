"""Absurd values are findings or nothing, never a crash."""

import pytest

from support.compile_text import compile_text, native


@pytest.mark.parametrize(
    "lines",
    [
        ("args: [--speculative-config, '{\"method\":{}}']",),
        ("args: [--max-model-len, '" + "1" * 400 + "k']",),
        ("args: [--compilation-config, '" + "[" * 2000 + "']",),
        ("args: [--compilation-config, '" + '{"a":' * 2000 + "1']",),
        ("args: [--speculative-config.draft_tensor_parallel_size, '" + "9" * 400 + "']",),
        ("engine_version: '" + "9" * 4301 + "'",),
    ],
    ids=["method", "human", "brackets", "braces", "dotted", "version"],
)
def test_it_compiles_or_is_told(lines):
    compiled = compile_text(native(*lines))

    assert compiled.plan is not None or compiled.report.failed
