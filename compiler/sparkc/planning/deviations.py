"""A recipe against the one that it was derived from: every difference in what runs must be declared.

Both recipes are compared as they compile without options, so it does not matter whether a size stands in a field, a
flag or a parameter, nor in which dialect. Texts for people (description, notes, links) are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import Engine
from sparkc.engines.registry import ENGINES
from sparkc.inventory.example import example_inventory
from sparkc.planning.pins import models
from sparkc.planning.resolve import Resolved, resolve
from sparkc.reading.source import Span
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.model import Param, Part, Recipe, Script
from sparkc.recipe.placeholders import quote
from sparkc.record import dataclass
from sparkc.traced import Traced

# Flags that native recipes have fields for, beside those of the engine's overrides.
_FIELDS = {
    "--served-model-name": "served_model_name",
    "--revision": "revision",
    "--model": "model",
    "--model-path": "model",
}
_OVERRIDES = {
    "port": "port", "host": "host", "tp": "parallel.tensor", "pp": "parallel.pipeline", "dp": "parallel.data",
}  # fmt: skip
_NUMBER = re.compile(r"-[0-9.]")
_SHOWN = 80


@dataclass(frozen=True)
class _Fact:
    """One thing that can differ: its value as text, and where the recipe says it."""

    value: str
    at: Span | None


def check_deviations(recipe: Recipe, original: Recipe, report: Report) -> None:
    """Report each difference that ``recipe.deviations`` does not declare, and each declared one that is none.

    ``original`` is the recipe that ``derived_from.source`` names, of any dialect. Keys are ``args.--flag``,
    ``env.NAME``, ``mounts.<target>``, ``parallel.tensor`` and the other keys of a native recipe.
    """
    source = recipe.derived_from["source"]
    mine, theirs = _facts(recipe), _facts(original)
    if mine is None:
        return  # the compile says why
    if theirs is None:
        report.warning(
            "SPK392",
            f"{source.value} does not compile, so the list of deviations was not compared with it",
            source.origin.span,
            hint=f"sparkc check {source.value}",
        )
        return
    engine = ENGINES.get(recipe.engine.value)
    declared = {_canonical(item.key, engine): item for item in recipe.deviations}
    differing = [key for key in {**mine, **theirs} if _value(mine.get(key)) != _value(theirs.get(key))]
    for key in differing:
        if key not in declared:
            here, there = mine.get(key), theirs.get(key)
            report.error(
                "SPK390",
                f"{key} differs from {source.value}: {_shown(here)} here, {_shown(there)} there",
                (here.at if here is not None else None) or source.origin.span,
                hint=f"add {{key: {key}, reason: …}} to deviations, or write what the original has",
            )
    for key, item in declared.items():
        if key not in differing:
            same = f"both have {_shown(mine[key])}" if key in mine else "neither has it"
            report.warning(
                "SPK391",
                f"deviation {item.key} is none: {same}",
                item.at,
                hint="remove it from deviations",
            )


def _facts(recipe: Recipe) -> dict[str, _Fact] | None:
    """Return what runs, by key; None when the recipe does not resolve."""
    report = Report()
    node = example_inventory().nodes[0]
    resolved = resolve(recipe, node, report)
    engine = ENGINES.get(recipe.engine.value)
    if resolved is None or engine is None or report.failed:
        return None
    stated = ((key, traced) for key, traced in _stated(recipe, resolved) if traced is not None)
    facts = {key: _Fact(_text(traced.value), traced.origin.span) for key, traced in stated if _text(traced.value)}
    return {**facts, **_command_facts(recipe, engine, resolved.words)}


def _stated(recipe: Recipe, resolved: Resolved) -> Iterator[tuple[str, Traced[object] | None]]:
    """Yield what stands in fields; a value of "" or false is what an absent field means."""
    yield "engine", recipe.engine
    yield "image", recipe.image
    yield "nodes", Traced(str(resolved.nodes), (recipe.nodes or recipe.engine).origin)
    for key in ("revision", "cluster_only", "solo_only", "ready_timeout"):
        yield key, getattr(recipe, key)
    if recipe.earlyoom is not None:
        yield "earlyoom", recipe.earlyoom.with_value(recipe.earlyoom.value or True)
    if recipe.entrypoint is not None and recipe.entrypoint.value is None:
        yield "entrypoint", recipe.entrypoint.with_value("keep")
    yield "secrets", _joined(recipe.secrets)
    yield "mods", _joined([mod.with_value(mod.value.removeprefix("mods/")) for mod in recipe.mods])
    for name, value in recipe.env.items():
        yield f"env.{name}", value.with_value("null" if value.value is None else _filled(value.value, resolved) or '""')
    for mount in recipe.mounts:
        mode = ":ro" if mount.read_only else ""
        made = ", made when it is missing" if mount.create else ""
        yield f"mounts.{mount.target.value}", mount.source.with_value(f"{mount.source.value}{mode}{made}")
    spec = recipe.container
    yield "container.ipc", spec.ipc_host
    for key in ("privileged", "shm_size", "memory", "memory_swap", "pids"):
        yield f"container.{key}", getattr(spec, key)
    yield "container.devices", _joined(spec.devices)
    yield "container.security_opt", _joined(spec.security_opt)
    for name, limit in spec.ulimits.items():
        yield f"container.ulimits.{name}", limit
    for key in ("path", "port", "start_period", "interval"):
        yield f"health.{key}", getattr(recipe.health, key)


def _command_facts(recipe: Recipe, engine: Engine, words: Words) -> dict[str, _Fact]:
    command = recipe.command
    facts: dict[str, _Fact] = {}
    if isinstance(command, Script):
        around = "".join(part.text for part in (*command.before, *command.after) if not isinstance(part, Param))
        facts["command"] = _Fact(around.strip() or "a script", command.origin.span)
    found = find_engine([word.value for word in words])
    if found is None:
        if words:
            facts["command"] = _Fact(" ".join(quote(word.value) for word in words), words[0].origin.span)
        return facts
    begin = _program_end(words, found.start)
    facts["entrypoint"] = _Fact(" ".join(quote(word.value) for word in words[:begin]), words[0].origin.span)
    keys = _flag_keys(engine)
    for name, values in _flags(words[begin:]).items():
        text = " and ".join(" ".join(_normal(value.value) for value in group[1:]) for group in values)
        key = keys.get(name, f"args.{name}") if name else "model"
        facts[key] = _Fact(text or "given", values[-1][-1].origin.span)
    for key, size in zip(("tensor", "pipeline", "data"), _sizes(recipe, engine, words), strict=True):
        facts[f"parallel.{key}"] = _Fact(str(size.value), size.origin.span)
    identity = models(recipe, words)
    if identity and _value(facts.get("model")) != identity[0].value:
        facts["parent_model"] = _Fact(identity[0].value, identity[0].origin.span)
    return facts


def _sizes(recipe: Recipe, engine: Engine, words: Words) -> tuple[Traced[int], ...]:
    world = engine.world(recipe, words, Report())
    return world.tensor, world.pipeline, world.data


def _program_end(words: Words, start: int) -> int:
    """Return where the arguments of the engine's program begin."""
    texts = [word.value for word in words[start : start + 3]]
    if texts[1:2] == ["-m"]:
        return start + 3
    return start + texts.index("serve") + 1 if "serve" in texts else start + 1


def _flags(words: Words) -> dict[str, list[list[Traced[str]]]]:
    """Return flags by their normal name, each occurrence with its values after it; "" is the argument before them."""
    flags: dict[str, list[list[Traced[str]]]] = {}
    current: list[Traced[str]] | None = None
    for word in words:
        name = None if _NUMBER.match(word.value) else arguments.flag_name(word.value)
        if name is not None:
            _, equals, value = word.value.partition("=")
            current = [word, word.with_value(value)] if equals else [word]
            flags.setdefault(name, []).append(current)
        elif current is None:
            flags.setdefault("", []).append([word, word])
        else:
            current.append(word)
    return flags


def _flag_keys(engine: Engine) -> dict[str, str]:
    fields = {flag: key for override, key in _OVERRIDES.items() for flag in engine.override_flags(override)}
    return {**_FIELDS, **fields}


def _canonical(key: str, engine: Engine | None) -> str:
    """Return a declared key as facts have it: a flag that has a field is that field."""
    section, _, flag = key.partition(".")
    if section not in {"args", "json_args"} or engine is None:
        return key
    name = arguments.flag_name(flag) or flag
    return _flag_keys(engine).get(name, f"args.{name}")


def _filled(parts: Sequence[Part], resolved: Resolved) -> str:
    values: Mapping[str, Traced[str]] = resolved.parameters
    return "".join(
        part.text
        if not isinstance(part, Param)
        else values[part.name].value
        if part.name in values
        else f"{{{part.name}}}"
        for part in parts
    )


def _joined(items: Sequence[Traced[str]]) -> Traced[str] | None:
    return items[0].with_value(" ".join(item.value for item in items)) if items else None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else ""
    return str(value)


def _normal(value: str) -> str:
    """Return JSON without the blanks and the order of keys that no engine sees; other text as it is."""
    if value[:1] not in {"{", "["}:
        return value
    import json  # few flags have JSON

    try:
        return json.dumps(json.loads(value), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return value


def _value(fact: _Fact | None) -> str | None:
    return None if fact is None else fact.value


def _shown(fact: _Fact | None) -> str:
    if fact is None:
        return "nothing"
    text = fact.value if fact.value.isprintable() else repr(fact.value)[1:-1]
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
