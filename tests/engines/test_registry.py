"""The list of engines."""

import subprocess
import sys

import pytest

from sparkc.engines.registry import ENGINES

NAMES = ["vllm", "vllm-ray", "sglang", "llama-cpp", "trtllm", "plain"]


def test_every_engine_is_found_under_its_own_name():
    assert list(ENGINES) == NAMES
    assert [ENGINES[name].name for name in NAMES] == NAMES
    assert len(ENGINES) == len(NAMES)


def test_an_unknown_name_is_not_found():
    assert "vlm" not in ENGINES
    assert ENGINES.get("vlm") is None
    with pytest.raises(KeyError):
        ENGINES["vlm"]


def test_only_the_engine_that_is_asked_for_is_imported():
    code = (
        "import sys; from sparkc.engines.registry import ENGINES; ENGINES['plain'];"
        "print(*sorted(name for name in sys.modules if name.startswith('sparkc.engines.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sparkc.engines.plain" in loaded
    assert not {"sparkc.engines.vllm", "sparkc.engines.sglang", "sparkc.engines.trtllm"} & set(loaded)
