"""Speculative decoding of vLLM: what ``--speculative-config`` must hold (``vllm.config.SpeculativeConfig``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparkc.flags.situation import Situation
from sparkc.traced import Traced

_OPTION = "--speculative-config"
_SHORT = (("--spec-method", "method"), ("--spec-model", "model"), ("--spec-tokens", "num_speculative_tokens"))
# Methods that draft with weights of their own; the others find them in the served checkpoint or need none.
_WITH_MODEL = frozenset({"eagle", "eagle3", "draft_model", "medusa", "mlp_speculator", "dflash", "custom_class"})
# Methods that a draft's name gives away, most telling first, as vLLM itself reads it where no method is given.
_BY_NAME = ("dflash", "eagle3", "dspark")


def speculative(here: Situation) -> None:
    """Check draft model, method and sizes; ``--spec-method`` and its like are short for keys of the option."""
    config, at = dict(here.config(_OPTION)), None
    for flag, key in _SHORT:
        value = here.line.value(flag)
        if value is not None:
            config.setdefault(key, value.value)
            at = value
    if config:
        _check(here, config, here.place(_OPTION) if here.json.get(_OPTION) is not None else at or here.line.words[0])


def _check(here: Situation, config: Mapping[str, Any], at: Traced[str]) -> None:
    method, model = config.get("method"), config.get("model")
    if not isinstance(method, str):
        method = None
    if model is None and (method in _WITH_MODEL or method is None) and "num_speculative_tokens" in config:
        here.findings.wrong(
            "SPK820",
            "speculative decoding without a draft model" + (f", which method {method!r} needs" if method else ""),
            at,
            hint='add "model": the draft\'s Hub id or its path in the container',
        )
    if isinstance(model, str):
        _draft(here, model, method, at)
    _sizes(here, config, at)
    if method == "dflash" or (method is None and isinstance(model, str) and "dflash" in model.lower()):
        _prefix_caching(here, at)


def _draft(here: Situation, model: str, method: object, at: Traced[str]) -> None:
    if model.startswith(("~", "./", "../")):
        here.findings.doubtful(
            "SPK820",
            f"the draft model {model!r} is no path that vLLM finds: nothing expands it inside JSON",
            at,
            hint="write its absolute path in the container",
        )
    told = next((name for name in _BY_NAME if name in model.rsplit("/", 1)[-1].lower()), None)
    if told is not None and isinstance(method, str) and method in _WITH_MODEL | {"dspark", "mtp"} and method != told:
        here.findings.doubtful(
            "SPK820",
            f"the draft model {model} is by its name for method {told!r}, but the method is {method!r}",
            at,
            hint=f'write "method": "{told}", or leave it out',
        )


def _sizes(here: Situation, config: Mapping[str, Any], at: Traced[str]) -> None:
    tensor, draft = here.size("--tensor-parallel-size"), config.get("draft_tensor_parallel_size")
    if isinstance(draft, int) and draft not in (1, tensor):
        here.findings.wrong(
            "SPK820",
            f"draft_tensor_parallel_size is {draft}: vLLM takes 1 or the model's own ({tensor})",
            at,
            hint="leave it out for the model's own",
        )
    if config.get("tensor_parallel_size") is not None:
        here.findings.wrong(
            "SPK820",
            f"vLLM refuses tensor_parallel_size in {_OPTION}",
            at,
            hint="write draft_tensor_parallel_size",
        )


def _prefix_caching(here: Situation, at: Traced[str]) -> None:
    """Tokens were seen corrupted with both; prefix caching is on by default.

    https://github.com/vllm-project/vllm/pull/54163
    """
    use = here.line.last("--enable-prefix-caching")
    if use is not None and use.off:
        return
    here.findings.doubtful(
        "SPK820",
        "DFlash together with prefix caching"
        + (", which is on by default," if use is None else "")
        + " has been seen to corrupt answers",
        at if use is None else use.flag,
        hint="write --no-enable-prefix-caching, or compare answers with and without it",
    )
