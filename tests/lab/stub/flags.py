"""The flags of ``vllm serve`` that the stub obeys; the others are taken as they come."""

# ruff: noqa: T201 - argparse prints, too

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NoReturn


@dataclass(frozen=True)
class Flags:
    model: str
    served: tuple[str, ...]
    host: str
    port: int
    api_key: str | None
    nnodes: int
    rank: int
    headless: bool
    master_addr: str
    master_port: int


def parse(arguments: list[str]) -> Flags:
    """Read the command line; ends the program with code 2 and argparse's words where the real one would."""
    if arguments[:1] != ["serve"]:
        _refuse(f"argument subparser: invalid choice: {arguments[:1]!r} (choose from 'serve')")
    model, given = _split(arguments[1:])
    if "--no-such-flag" in given:
        _refuse("unrecognized arguments: --no-such-flag")
    model = model or (given.get("--model") or [""])[-1]
    if not model:
        _refuse("a model is required")
    served = tuple(given.get("--served-model-name", [])) or (model,)
    rank, nnodes = _number(given, "--node-rank", 0), _number(given, "--nnodes", 1)
    if not 0 <= rank < nnodes:
        _refuse(f"node_rank {rank} must be in [0, {nnodes})")
    if "--headless" not in given and rank > 0:
        _refuse("collective_rpc should not be called on follower node", code=1)
    return Flags(
        model=model,
        served=served,
        host=_text(given, "--host", ""),
        port=_number(given, "--port", 8000),
        api_key=_text(given, "--api-key", "") or None,
        nnodes=nnodes,
        rank=rank,
        headless="--headless" in given,
        master_addr=_text(given, "--master-addr", "127.0.0.1"),
        master_port=_number(given, "--master-port", 29501),
    )


def _split(words: list[str]) -> tuple[str, dict[str, list[str]]]:
    """Return the model and the values of each flag; the last mention of a flag wins, as in argparse."""
    model, given, current = "", {}, None
    for word in words:
        if word.startswith("-") and not word[1:].replace(".", "").isdecimal():
            current, _, value = word.partition("=")
            given[current] = [value] if "=" in word else []
        elif current is not None:
            given[current].append(word)
        elif not model:
            model = word
        else:
            _refuse(f"unrecognized arguments: {word}")
    return model, given


def _text(given: dict[str, list[str]], flag: str, default: str) -> str:
    if flag not in given:
        return default
    if len(given[flag]) != 1:
        _refuse(f"argument {flag}: expected one argument")
    return given[flag][0]


def _number(given: dict[str, list[str]], flag: str, default: int) -> int:
    text = _text(given, flag, str(default))
    try:
        return int(text)
    except ValueError:
        _refuse(f"argument {flag}: invalid int value: {text!r}")


def _refuse(text: str, code: int = 2) -> NoReturn:
    print(f"usage: vllm serve [model_tag] [options]\nvllm serve: error: {text}", file=sys.stderr, flush=True)
    sys.exit(code)
