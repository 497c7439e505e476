"""JSON on a command line: whether it parses, and whether the engine's configuration class has such keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from sparkc.flags.dumps import Dump
from sparkc.flags.findings import Findings
from sparkc.flags.grammar import CommandLine, Use
from sparkc.flags.nearest import nearest
from sparkc.flags.values import human_int
from sparkc.traced import Traced

# vLLM reads this option as plain JSON and makes the class of it later, which refuses unknown keys all the same.
_PLAIN = {"--speculative-config": "SpeculativeConfig"}
_SUFFIXED = r'("(?:[^"\\]|\\.)*")|\b\d+(?:\.\d+)?[kKmMgGtT]\b'
_TRUTH = frozenset({"true", "false", "on", "off", "yes", "no", "t", "f", "y", "n", "1", "0"})


class JsonValues:
    """The JSON of a command: each option's own, with what dotted keys add to it."""

    def __init__(self, line: CommandLine, findings: Findings, *, in_shell: bool = False) -> None:
        self._findings = findings
        self._values: dict[str, tuple[Traced[str], Any]] = {}
        dotted: dict[str, tuple[Traced[str], dict[str, Any]]] = {}
        for use in line.uses:
            if not use.option.kind.startswith("json") or use.value is None:
                continue
            if in_shell and ("$" in use.value.value or "`" in use.value.value):
                continue  # the shell's to find
            if use.keys:
                content = _nested(use.keys, _scalar(use.value.value))
                self._check_class(use, use.value, content)
                _, before = dotted.get(use.option.name, (use.value, {}))
                dotted[use.option.name] = (use.value, _merged(before, content))
            else:
                self._read(use, use.value)
        for name, (at, content) in dotted.items():
            if name in self._values:
                findings.doubtful(
                    "SPK815",
                    f"dotted keys of {name} replace the JSON given beside them, all of it",
                    at,
                    hint="write all keys in one way",
                )
            self._values[name] = (at, content)

    def get(self, name: str) -> tuple[Traced[str], dict[str, Any]] | None:
        """Return where an option's JSON object stands and the object, or None."""
        found = self._values.get(name)
        return found if found is not None and isinstance(found[1], dict) else None

    def _read(self, use: Use, value: Traced[str]) -> None:
        name = use.option.name
        if use.option.none and value.value in ("", "None"):
            return
        if use.option.kind == "json-or-text" and not re.fullmatch(r"\s*\{.*\}\s*", value.value, re.DOTALL):
            return
        try:
            content = _parse(value.value)
        except ValueError as error:
            self._findings.wrong(
                "SPK812", f"{name} takes JSON, and this is none: {_reason(error)}", value, hint=_quoting(value.value)
            )
            return
        self._values[name] = (value, content)
        self._check_class(use, value, content)

    def _check_class(self, use: Use, at: Traced[str], content: Any) -> None:
        name = use.option.name
        kind = use.option.kind.partition(":")[2] or _PLAIN.get(name, "")
        if kind not in self._findings.dump.classes:
            return
        if isinstance(content, dict):
            self._check_fields(name, (kind,), at, content)
        elif content is not None:
            self._findings.wrong(
                "SPK814", f"{name} takes a JSON object, got {json.dumps(content)[:40]}", at, hint='write {"key": value}'
            )

    def _check_fields(self, name: str, path: tuple[str, ...], at: Traced[str], content: Mapping[str, Any]) -> None:
        """``path`` is the class of the option's value and the keys below it."""
        dump = self._findings.dump
        fields = _fields(dump, path) or {}
        for key, value in content.items():
            if key not in fields:
                self._findings.unknown(
                    "SPK813",
                    f"{name} of {self._findings.basis.name} has no key {'.'.join((*path[1:], key))}",
                    at,
                    hint=nearest(key, fields),
                    known=partial(_has, path=path, key=key),
                )
            elif isinstance(fields[key], str) and fields[key] in dump.classes:
                if isinstance(value, dict):
                    self._check_fields(name, (*path, key), at, value)
            elif value is not None:
                self._check_field(name, (*path, key), at, value)

    def _check_field(self, name: str, path: tuple[str, ...], at: Traced[str], value: Any) -> None:
        """``path`` ends with the key whose value is checked."""
        key, wanted = ".".join(path[1:]), (_fields(self._findings.dump, path[:-1]) or {})[path[-1]]
        if isinstance(wanted, list):
            if not _among(value, wanted):
                self._findings.unknown(
                    "SPK814",
                    f"{key} of {name} of {self._findings.basis.name} does not take {json.dumps(value)}",
                    at,
                    hint=nearest(str(value), [str(choice) for choice in wanted])
                    or f"it takes {', '.join(map(str, wanted[:8]))}{', …' if len(wanted) > 8 else ''}",
                    known=lambda other: _admits(other, path, value),
                )
        elif isinstance(wanted, str) and not _becomes(value, wanted):
            self._findings.wrong(
                "SPK814", f"{key} of {name} is a {wanted}, got {json.dumps(value)[:40]}", at, hint=f"write a {wanted}"
            )


def _fields(dump: Dump, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Return the fields of the class that stands at a path of keys below a class, or None."""
    fields: Any = dump.classes.get(path[0])
    for key in path[1:]:
        kind = fields.get(key) if isinstance(fields, dict) else None
        fields = dump.classes.get(kind) if isinstance(kind, str) else None
    return fields if isinstance(fields, dict) else None


def _has(dump: Dump, path: tuple[str, ...], key: str) -> bool:
    return key in (_fields(dump, path) or {})


def _admits(dump: Dump, path: tuple[str, ...], value: Any) -> bool:
    wanted = (_fields(dump, path[:-1]) or {}).get(path[-1])
    return isinstance(wanted, list) and _among(value, wanted)


def _among(value: Any, choices: list[Any]) -> bool:
    """Return whether a value is one of the choices; vLLM folds the case and - of most such names before it compares."""
    if isinstance(value, str):
        folded = value.lower().replace("-", "_")
        return value in choices or folded in {str(choice).lower().replace("-", "_") for choice in choices}
    return value in choices


def _becomes(value: Any, wanted: str) -> bool:
    """Return whether pydantic makes the type of a JSON value, in its lax mode."""
    if isinstance(value, (dict, list)):
        return False
    if wanted == "str":
        return isinstance(value, str)
    if wanted == "bool":
        return isinstance(value, bool) or (value in (0, 1) if not isinstance(value, str) else value.lower() in _TRUTH)
    if isinstance(value, str):
        return re.fullmatch(r"\s*[-+]?[\d_]+(\.\d*)?([eE][-+]?\d+)?\s*", value) is not None
    return wanted == "float" or isinstance(value, int) or float(value).is_integer()


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:
        # newer vLLM takes 80g and the like for numbers, outside quotes
        expanded = re.sub(_SUFFIXED, lambda match: match[0] if match[1] else str(human_int(match[0])), text)
        if expanded == text:
            raise
        return json.loads(expanded)


def _scalar(text: str) -> Any:
    """Return what vLLM makes of a dotted key's value: JSON, else a number with a suffix, else text."""
    for read in (json.loads, human_int):
        try:
            return read(text)
        except (ValueError, RecursionError):
            continue
    return text


def _nested(keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    head, rest = keys[0], keys[1:]
    if rest:
        return {head: _nested(rest, value)}
    if head.endswith("+"):
        return {head[:-1]: str(value).split(",")}
    return {head: value}


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in new.items():
        mine = merged.get(key)
        merged[key] = _merged(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return merged


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.pos + 1}"
    return str(error)


def _quoting(text: str) -> str:
    if "'" in text and '"' not in text:
        return "JSON has double quotes"
    if '"' not in text and re.search(r"[{,]\s*[A-Za-z_]", text):
        return "the quotes are gone: put the JSON into single quotes in a shell command, or into json_args"
    if "True" in text or "False" in text or "None" in text:
        return "JSON writes true, false and null"
    return "check braces, commas and quotes"
