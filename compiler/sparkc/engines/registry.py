"""The engines there are. A new engine is one file and one line here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

from sparkc.engines.base import Engine

# Name in recipes → module and class. A compile needs one of them, so each is imported when it is asked for.
_ENGINES = {
    "vllm": ("vllm", "Vllm"),
    "vllm-ray": ("vllm_ray", "VllmRay"),
    "sglang": ("sglang", "Sglang"),
    "llama-cpp": ("llama_cpp", "LlamaCpp"),
    "trtllm": ("trtllm", "TensorRtLlm"),
    "plain": ("plain", "Plain"),
}


class _Registry(Mapping[str, Engine]):
    """The engines by name."""

    def __getitem__(self, name: str) -> Engine:
        module, engine = _ENGINES[name]
        return cast("Engine", getattr(import_module(f"sparkc.engines.{module}"), engine)())

    def __iter__(self) -> Iterator[str]:
        return iter(_ENGINES)

    def __len__(self) -> int:
        return len(_ENGINES)

    def __contains__(self, name: object) -> bool:
        return name in _ENGINES


ENGINES: Mapping[str, Engine] = _Registry()
