"""Where in a command line the serving engine's own command begins."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.record import dataclass

# Programs that serve without a subcommand.
_PROGRAMS = {"llama-server": "llama-cpp", "trtllm-serve": "trtllm"}


@dataclass(frozen=True)
class EngineCommand:
    """The engine's name in our registry, and the index of the word that is its program."""

    engine: str
    start: int


def find_engine(words: Sequence[str]) -> EngineCommand | None:
    """Return the engine command in the words of one simple command, or None.

    Recognised are ``vllm serve`` (also through an image's entrypoint script or toolchain script that takes
    ``serve``), ``python3 -m vllm.entrypoints.…``, SGLang's two forms, ``llama-server`` and ``trtllm-serve``. Words
    before it (``numactl -N 0``, ``env A=1``) are left alone; a command that only prints its help serves nothing.
    """
    if not words or words[0] in {"echo", "printf"} or "--help" in words:
        return None
    for index, word in enumerate(words[:-1]):
        engine = _engine(word.rsplit("/", 1)[-1], words[index + 1 : index + 3])
        if engine is not None:
            return EngineCommand(engine, _interpreter(words, index))
    return None


def _engine(program: str, following: Sequence[str]) -> str | None:
    if program in _PROGRAMS:
        return _PROGRAMS[program]
    if following[0] == "serve":
        if program == "sglang":
            return "sglang"
        return "vllm" if "vllm" in program or "entrypoint" in program or program.endswith(".py") else None
    if following[0] == "-m" and program.startswith("python") and len(following) > 1:
        if following[1].startswith("vllm.entrypoints"):
            return "vllm"
        return "sglang" if following[1] == "sglang.launch_server" else None
    return None


def _interpreter(words: Sequence[str], index: int) -> int:
    """A Python script's command begins with its interpreter, if that is named."""
    before = words[index - 1].rsplit("/", 1)[-1] if index else ""
    return index - 1 if words[index].endswith(".py") and before.startswith("python") else index
