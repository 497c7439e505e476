"""The flags that sparkc adds by itself are options of the engine, in every recorded version that can use them."""

import pytest

from sparkc.flags import dumps
from support.compile_text import compile_text, native

# vLLM's native mode came with 0.11.1; the versions before that are told by the flag check.
VLLM = [version for version in dumps.RECORDED["vllm"] if version != "0.11.0"]


def added_flags(recipe):
    """The flags of all ranks that the recipe does not state."""
    compiled = compile_text(recipe)
    words = [word for rank in range(len(compiled.ranks)) for word in compiled.argv(rank)]
    return {word for word in words if word.startswith("--")} - set(recipe.split())


@pytest.mark.parametrize("version", VLLM)
@pytest.mark.parametrize("layout", ["", "--data-parallel-hybrid-lb", "--data-parallel-external-lb"])
def test_vllm(version, layout):
    recipe = native("parallel: {data: 2}", f"args: [{layout} ]".replace("[ ", "["))
    assert added_flags(recipe) <= set(dumps.load("vllm", version).spellings)


@pytest.mark.parametrize("version", dumps.RECORDED["sglang"])
def test_sglang(version):
    recipe = native(
        "host: 0.0.0.0", "port: 1", "served_model_name: [a]", "parallel: {tensor: 2, pipeline: 2}", engine="sglang"
    )
    added = added_flags(recipe)
    assert {"--dist-init-addr", "--nnodes", "--node-rank", "--pp-size", "--revision"} < added
    assert added <= set(dumps.load("sglang", version).spellings)
