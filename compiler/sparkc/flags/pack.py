"""Packs dumps of engines' argument parsers into ``flags/data``: ``python -m sparkc.flags.pack DUMPS_FOLDER``.

``DUMPS_FOLDER`` holds what :mod:`sparkc.flags.dump` printed, one file per engine and version. Written are one small
file per version, of which a compile reads the one that it needs, and one history per engine: which names came and
went. Defaults, help texts and everything that no check needs stay behind.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

# vllm_registries' keys → the flag whose values they are; "kv_connector" is a key inside --kv-transfer-config
_REGISTRIES = {
    "tool_call_parsers": "--tool-call-parser",
    "reasoning_parsers": "--reasoning-parser",
    "quantization_methods": "--quantization",
    "attention_backends": "--attention-backend",
    "load_formats": "--load-format",
    "kv_connectors": "kv_connector",
}
_KINDS = {
    "human_readable_int": "human",
    "human_readable_int_or_auto": "human-or-auto",
    "union_dict_and_str": "json-or-text",
    "loads": "json",
    "json_list_type": "json",
    "bool": "text",
    "str": "text",
    "nullable_str": "text",
    "parse_reasoning_parser": "text",
    "<lambda>": "folded",  # vLLM lowers the case and takes - for _ before it compares
    "None": "text",
}
_LIMITS = ("gt", "ge", "lt", "le")
# Enumerations that JSON names by their members, or by number; dumps do not list them.
_MODES = {
    "CompilationMode": [0, 1, 2, 3, "NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"],
    "CUDAGraphMode": [0, 1, 2, "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"],
}
# pydantic's simple field types, which a JSON value of another kind cannot become
_SIMPLE = ("bool", "int", "float", "str")


def pack(dump: Mapping[str, Any], registries: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the checks need of one parser's dump and, for vLLM, of the registries beside it."""
    options = {_primary(option): _option(option) for option in dump["options"] if option["names"]}
    if dump["engine"] == "vllm":
        # vLLM moves it to the front before argparse sees it, so some dumps leave it out.
        options.setdefault("--model", {"kind": "text"})
    packed: dict[str, Any] = {"engine": dump["engine"], "version": dump["version"], "options": options}
    classes = _reachable(dump.get("config_classes", {}), options.values())
    if classes:
        packed["classes"] = classes
    if registries is not None:
        packed["registries"] = {flag: registries[key] for key, flag in _REGISTRIES.items()}
        packed["environment"] = [name for name in registries["env_vars"] if name.startswith("VLLM_")]
    return packed


def history(packed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return, for each flag and variable that some versions lack, a digit per version: 1 where it has it."""
    names = [
        {name for option, record in one["options"].items() for name in _spellings(option, record)}
        | set(one.get("environment", ()))
        for one in packed
    ]
    came_and_went = sorted(set().union(*names) - set.intersection(*names))
    return {
        "versions": [one["version"] for one in packed],
        "names": {name: "".join(str(int(name in known)) for known in names) for name in came_and_went},
    }


def _spellings(option: str, record: Mapping[str, Any]) -> Iterable[str]:
    return (option, *record.get("also", ()), *record.get("off", ()))


def _primary(option: Mapping[str, Any]) -> str:
    """The first long name, as the documentation has it."""
    names: list[str] = option["names"]
    return next((name for name in names if name.startswith("--")), names[0])


def _option(option: Mapping[str, Any]) -> dict[str, Any]:
    primary, off = _primary(option), option["negative_names"]
    record: dict[str, Any] = {}
    also = [name for name in option["names"] if name != primary and name not in off]
    if also:
        record["also"] = also
    if off:
        record["off"] = off
    if option["nargs"] == 0:
        record["kind"] = "switch"
    else:
        kind = str(option["type"]).removeprefix("optional:")
        record["kind"] = _KINDS.get(kind, "text" if kind.startswith("parse_") else kind)
        if str(option["type"]).startswith("optional:"):
            record["none"] = True
        if option["nargs"] is not None:
            record["nargs"] = option["nargs"]
    if option["action"] == "_AppendAction":
        record["collects"] = True
    if option["choices"]:
        record["choices"] = option["choices"]
    elif isinstance(option["metavar"], list):
        record["suggested"] = option["metavar"]
    record.update({key: value for key, value in option.get("constraints", {}).items() if key in _LIMITS})
    if option["deprecated"]:
        record["deprecated"] = option.get("replacement") or True
    return record


def _reachable(classes: Mapping[str, Any], options: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the classes that JSON on the command line can hold; a field of another class names it."""
    waiting = [record["kind"].removeprefix("json:") for record in options if record["kind"].startswith("json:")]
    waiting.append("SpeculativeConfig")
    packed: dict[str, Any] = {}
    while waiting:
        name = waiting.pop()
        if name in packed or name not in classes:
            continue
        fields = {key: _field(field, classes) for key, field in classes[name].items() if field.get("init", True)}
        if fields:
            packed[name] = fields
            waiting += [field for field in fields.values() if isinstance(field, str) and field in classes]
    return dict(sorted(packed.items()))


def _field(field: Mapping[str, Any], classes: Mapping[str, Any]) -> Any:
    """A list is the choices, a text the class or the simple type of a value, 0 anything."""
    kind: str = field["type"]
    if field.get("choices") and "list[" not in kind and "dict[" not in kind:
        # A union with str takes any text; the choices are only suggestions there.
        return field["choices"] if ", str" not in kind and "[str" not in kind else "str"
    bare = kind.removesuffix(" | None").removeprefix("Optional[").removesuffix("]")
    short = bare.rsplit(".", 1)[-1]
    if short in _MODES:
        return _MODES[short]
    if short in classes:
        return short
    return bare if bare in _SIMPLE else 0


def _text(packed: Mapping[str, Any]) -> str:
    """JSON with one option, class or list per line, for readable differences between versions."""
    lines = []
    for key, value in packed.items():
        if isinstance(value, dict):
            inner = ",\n".join(f"{_compact(name)}:{_compact(item)}" for name, item in value.items())
            lines.append(f"{_compact(key)}:{{\n{inner}\n}}")
        else:
            lines.append(f"{_compact(key)}:{_compact(value)}")
    return "{" + ",\n".join(lines) + "}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def main(folder: Path) -> None:
    """Write ``data`` anew from the dumps in ``folder``."""
    data = Path(__file__).parent / "data"
    for engine in ("vllm", "sglang"):
        all_packed = []
        for path in folder.glob(f"{engine}_flags_*.json"):
            registries = folder / path.name.replace("_flags_", "_registries_")
            all_packed.append(pack(_read(path), _read(registries) if registries.exists() else None))
        all_packed.sort(key=lambda one: [int(part) for part in one["version"].split(".")])
        for one in all_packed:
            (data / f"{engine}-{one['version']}.json").write_text(_text(one), encoding="utf-8")
        (data / f"{engine}-history.json").write_text(_text(history(all_packed)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
