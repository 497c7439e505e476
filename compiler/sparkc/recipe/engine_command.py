"""Where in a command line the serving engine's own command begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class EngineCommand(NamedTuple):
    """The engine's name in our registry, and the index of the word that is its program."""

    engine: str
    start: int


def find_engine(words: Sequence[str]) -> EngineCommand | None:
    """Return the engine command in the words of one simple command, or None.

    Recognised are ``vllm serve`` (also through an image's entrypoint script or toolchain script that takes
    ``serve``), ``python3 -m vllm.entrypoints.…`` and SGLang's two forms. Words before it (``numactl -N 0``,
    ``env A=1``) are left alone; a command that only prints its help serves nothing.
    """
    if not words or words[0] in {"echo", "printf"} or "--help" in words:
        return None
    for index, word in enumerate(words[:-1]):
        following = words[index + 1]
        program = word.rsplit("/", 1)[-1]
        if following == "serve" and program == "sglang":
            return EngineCommand("sglang", index)
        if following == "serve" and ("vllm" in program or "entrypoint" in program or program.endswith(".py")):
            return EngineCommand("vllm", _interpreter(words, index))
        if following == "-m" and program.startswith("python") and index + 2 < len(words):
            if words[index + 2].startswith("vllm.entrypoints"):
                return EngineCommand("vllm", index)
            if words[index + 2] == "sglang.launch_server":
                return EngineCommand("sglang", index)
    return None


def _interpreter(words: Sequence[str], index: int) -> int:
    """A Python script's command begins with its interpreter, if that is named."""
    before = words[index - 1].rsplit("/", 1)[-1] if index else ""
    return index - 1 if words[index].endswith(".py") and before.startswith("python") else index
