"""Prints what an installed engine's argument parser knows, as JSON for :mod:`sparkc.flags.pack`.

It imports nothing of sparkc and runs with the engine's own Python, in an image too::

    python3 dump.py vllm > vllm_flags_0.33.0.json
    python3 dump.py vllm-registries > vllm_registries_0.33.0.json
    docker run --rm -i --entrypoint python3 lmsysorg/sglang:v0.5.23 - sglang < dump.py > sglang_flags_0.5.23.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
import typing
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any


def vllm_parser() -> argparse.ArgumentParser:
    """Return the parser of ``vllm serve``; ``ServeSubcommand`` has stayed where it is from 0.11 to 0.33."""
    try:
        flexible = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    except ImportError:  # 0.11
        flexible = import_module("vllm.utils").FlexibleArgumentParser
    serve = import_module("vllm.entrypoints.cli.serve").ServeSubcommand()
    parser: argparse.ArgumentParser = serve.subparser_init(flexible(prog="vllm").add_subparsers())
    return parser


def sglang_parser() -> argparse.ArgumentParser:
    """Return the parser of ``sglang.launch_server``."""
    parser = argparse.ArgumentParser()
    import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    return parser


def options(parser: argparse.ArgumentParser) -> list[dict[str, Any]]:
    """Describe every action of a parser."""
    deprecated: Any = getattr(parser, "_deprecated", ())
    return [_option(action, deprecated) for action in parser._actions]  # noqa: SLF001 - argparse has no other way


def _option(action: argparse.Action, deprecated: Iterable[argparse.Action]) -> dict[str, Any]:
    names = list(action.option_strings)
    note = action.help or ""
    gone = action in deprecated or "Deprecated" in type(action).__name__ or getattr(action, "deprecated", False)
    gone = gone or note.lstrip("([").lower().startswith("deprecated")
    return {
        "names": names,
        "action": type(action).__name__,
        "type": _type(action.type),
        "choices": [choice if choice is None else str(choice) for choice in action.choices or ()] or None,
        "nargs": action.nargs,
        "metavar": list(action.metavar) if isinstance(action.metavar, (list, tuple)) else None,
        "deprecated": bool(gone),
        "replacement": getattr(action, "new_flag", None) or (note if gone and "use" in note.lower() else None),
        "negative_names": _negative(action, names),
        "constraints": _constraints(action),
    }


def _negative(action: argparse.Action, names: list[str]) -> list[str]:
    """The spellings that switch off: those whose beginning the first spelling has not."""
    if action.nargs != 0 or len(names) < 2 or isinstance(action, argparse._StoreTrueAction):  # noqa: SLF001
        return []
    first = names[0]
    return [name for name in names[1:] if name.startswith("--no-") or _opposite(name, first)]


def _opposite(name: str, first: str) -> bool:
    pairs = (("--disable-", "--enable-"), ("--enable-", "--disable-"))
    return any(name.startswith(one) and first == other + name.removeprefix(one) for one, other in pairs)


def _type(kind: Any) -> str | None:
    """Name a type; vLLM wraps types in closures, which hold the wrapped one."""
    if kind is None:
        return None
    name: str = getattr(kind, "__name__", type(kind).__name__)
    inside = [cell.cell_contents for cell in getattr(kind, "__closure__", None) or ()]
    if name == "_optional_type":
        return f"optional:{_type(inside[0])}"
    if name == "_parse_type":
        return "json" if inside[0] is json.loads else _type(inside[0])
    if name == "parse_dataclass":
        defaults = kind.__defaults__ or inside
        return f"json:{defaults[0].__name__}"
    return name


def _constraints(action: argparse.Action) -> dict[str, float]:
    """Return the limits that pydantic has for the field of vLLM's configuration that the option sets."""
    if "vllm" not in sys.modules:
        return {}
    for config in _config_classes().values():
        field = config.__dataclass_fields__.get(action.dest)
        if field is not None and (found := _limits(field.default, field.type)):
            return found
    return {}


def _limits(*places: Any) -> dict[str, float]:
    metadata = [item for place in places for item in getattr(place, "metadata", None) or ()]
    metadata += [item for place in places for item in getattr(place, "__metadata__", ())]
    return {
        key: value
        for item in metadata
        for key in ("gt", "ge", "lt", "le")
        if isinstance(value := getattr(item, key, None), (int, float))
    }


def _config_classes() -> dict[str, Any]:
    module = import_module("vllm.config")
    return {name: item for name in dir(module) if _is_class(item := getattr(module, name))}


def classes() -> dict[str, dict[str, Any]]:
    """Describe the fields of vLLM's configuration classes, which are the keys of its JSON options."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(_config_classes().values())
    while waiting:
        config = waiting.pop()
        if config.__name__ in found:
            continue
        hints = _hints(config)
        found[config.__name__] = {
            field.name: {
                "type": _written(hints[field.name]),
                "choices": _literals(hints[field.name]),
                "init": field.init and getattr(field.default, "init", None) is not False,
            }
            for field in dataclasses.fields(config)
        }
        waiting += [inner for hint in hints.values() for inner in (hint, *typing.get_args(hint)) if _is_class(inner)]
    return found


def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _hints(config: Any) -> dict[str, Any]:
    """Return the fields' types; those that only a type checker can resolve stay as they are written."""
    try:
        return typing.get_type_hints(config, include_extras=True)
    except NameError:
        return {field.name: field.type for field in dataclasses.fields(config)}


def _written(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")


def _literals(hint: Any) -> list[Any]:
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [choice for inner in typing.get_args(hint) for choice in _literals(inner)]


def vllm_registries() -> dict[str, Any]:
    """Return the names that vLLM looks up after its parser has taken them."""
    return {
        "tool_call_parsers": _first(
            lambda: import_module("vllm.tool_parsers").ToolParserManager.list_registered(),  # noqa: PLW0108 - lazy
            lambda: import_module("vllm.entrypoints.openai.tool_parsers").ToolParserManager.tool_parsers,
        ),
        "reasoning_parsers": _first(
            lambda: import_module("vllm.reasoning").ReasoningParserManager.list_registered(),  # noqa: PLW0108 - lazy
            lambda: import_module("vllm.reasoning").ReasoningParserManager.reasoning_parsers,
        ),
        "quantization_methods": sorted(
            import_module("vllm.model_executor.layers.quantization").QUANTIZATION_METHODS,
        ),
        "attention_backends": _first(
            lambda: import_module("vllm.v1.attention.backends.registry").AttentionBackendEnum.__members__,
            lambda: import_module("vllm.platforms.interface")._Backend.__members__,  # noqa: SLF001
        ),
        "load_formats": sorted(import_module("vllm.model_executor.model_loader")._LOAD_FORMAT_TO_MODEL_LOADER),  # noqa: SLF001
        "kv_connectors": sorted(
            import_module("vllm.distributed.kv_transfer.kv_connector.factory").KVConnectorFactory._registry  # noqa: SLF001
        ),
        "env_vars": sorted(import_module("vllm.envs").environment_variables),
    }


def _first(*ways: Callable[[], Iterable[str]]) -> list[str]:
    """Return the names from the first place that this version has."""
    for way in ways:
        try:
            return sorted(way())
        except (ImportError, AttributeError):
            continue
    raise LookupError("none of the known places has this registry")


def main(what: str) -> None:
    """Print the dump of ``vllm``, ``vllm-registries`` or ``sglang``."""
    engine = what.partition("-")[0]
    version = re.sub(r"[+.]?(?:post|dev|cpu).*", "", import_module(engine).__version__)
    dump: dict[str, Any] = {"engine": engine, "version": version}
    if what == "vllm-registries":
        dump |= vllm_registries()
    else:
        dump["options"] = options(vllm_parser() if engine == "vllm" else sglang_parser())
        if engine == "vllm":
            dump["config_classes"] = classes()
    print(json.dumps(dump, indent=1))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
