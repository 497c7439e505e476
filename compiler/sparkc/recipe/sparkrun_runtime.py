"""Which engine a sparkrun recipe means: its ``runtime``, else what its command starts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.foreign import plain_engine
from sparkc.recipe.model import Argv, Command
from sparkc.recipe.word_checks import visible
from sparkc.traced import Traced, from_rule

# `vllm` leaves open whether ranks meet over Ray. `eugr-vllm` is sparkrun's former name of `vllm-ray`.
_RUNTIMES = {
    "vllm": "vllm",
    "vllm-distributed": "vllm",
    "vllm-ray": "vllm-ray",
    "eugr-vllm": "vllm-ray",
    "sglang": "sglang",
    "llama-cpp": "llama-cpp",
    "trtllm": "trtllm",
}
_BACKEND = "--distributed-executor-backend"


def is_known(runtime: Traced[str] | None, report: Report) -> bool:
    """Report a runtime that sparkc has no engine for; return whether there is none to report."""
    if runtime is None or runtime.value in ("", *_RUNTIMES):
        return True
    report.error(
        "SPK134",
        f"runtime {runtime.value!r} is no engine of sparkc",
        runtime.origin.span,
        hint=did_you_mean(runtime.value, _RUNTIMES)
        or f"runtimes are {', '.join(_RUNTIMES)}; a native recipe with `engine: plain` runs any program",
    )
    return False


def engine_of(
    runtime: Traced[str] | None, command: Command | None, defaults: Mapping[str, Traced[str]], report: Report
) -> Traced[str]:
    """Return the engine of a recipe whose runtime :func:`is_known`; ``command`` None is made from the defaults."""
    stated = None if runtime is None or not runtime.value else runtime
    found = _started(command)
    if stated is None or stated.value == "vllm":
        if stated is None and found is None and command is not None:
            return plain_engine(command, report)
        origin = from_rule("vLLM is the default", "the recipe states no runtime") if stated is None else stated.origin
        engine = found or Traced("vllm", origin)
        return engine.with_value("vllm-ray") if engine.value == "vllm" and _on_ray(command, defaults) else engine
    engine = stated.with_value(_RUNTIMES[stated.value])
    if found is not None and found.value != engine.value.removesuffix("-ray"):
        report.error(
            "SPK150",
            f"runtime is {stated.value}, but the command starts {found.value}",
            stated.origin.span,
            hint=f"write runtime: {found.value}",
        )
    return engine


def _started(command: Command | None) -> Traced[str] | None:
    if command is None:
        return None
    words = command.words if isinstance(command, Argv) else command.engine
    found = find_engine([visible(word) for word in words])
    return None if found is None else Traced(found.engine, words[found.start].origin)


def _on_ray(command: Command | None, defaults: Mapping[str, Traced[str]]) -> bool:
    backend = defaults.get("distributed_executor_backend")
    if backend is not None and backend.value.lower() == "ray":
        return True
    if command is None:
        return False
    texts = [visible(word) for word in (command.words if isinstance(command, Argv) else command.engine)]
    return f"{_BACKEND}=ray" in texts or (_BACKEND, "ray") in pairwise(texts)
