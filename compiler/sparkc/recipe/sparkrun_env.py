"""Environment of a sparkrun recipe: literal, but for ``{config.NAME}`` and ``{launch.NAME}``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sparkc.diagnostics import Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.patterns import pattern
from sparkc.reading.fields import Fields
from sparkc.reading.source import Span
from sparkc.recipe.model import EnvValue, Param, Part, Text
from sparkc.traced import Traced, from_rule

_TEMPLATE = pattern(r"(?<![$\{])(?P<open>\{+)(?P<space>config|launch)\.(?P<name>[^{}]*)(?P<close>\}+)")
_SHELL = pattern(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
# What a rank knows, by sparkrun's name.
_LAUNCH = {"node_rank": "rank", "num_nodes": "nnodes", "node_host": "node.address"}


def read_env(
    fields: Fields, values: Mapping[str, Traced[str]], revision: Traced[str] | None
) -> dict[str, Traced[EnvValue]]:
    """Return the environment with its templates as placeholders."""
    env: dict[str, Traced[EnvValue]] = {}
    for key, traced in fields.text_map("env").items():
        if traced.value is None:
            env[key] = Traced(None, traced.origin)
            continue
        text = Traced(traced.value, traced.origin)
        env[key] = traced.with_value(tuple(_parts(key, text, values, revision, fields.report)))
        variable = _SHELL.search(text.value)
        if variable is not None:
            fields.report.warning(
                "SPK128",
                f"env.{key} keeps {variable[0] + ('}' if '{' in variable[0] else '')} as it is: nothing expands it",
                traced.origin.span,
                hint="write the value that the container should see; for a token, "
                f"remove it and write `secrets: [{variable[1]}]` in a native recipe",
            )
    return env


def node_ip(env: Mapping[str, Traced[EnvValue]], texts: Iterable[str], at: Span) -> dict[str, Traced[EnvValue]]:
    """Return ``NODE_IP``, which sparkrun sets on every node, for recipes whose ``texts`` read it."""
    if "NODE_IP" in env or not any("NODE_IP" in text for text in texts):
        return {}
    rule = from_rule("sparkrun's NODE_IP", "sparkrun sets it on every node, and this recipe reads it")
    return {"NODE_IP": Traced((Param("node.address", at),), rule)}


def _parts(
    key: str, text: Traced[str], values: Mapping[str, Traced[str]], revision: Traced[str] | None, report: Report
) -> Iterator[Part]:
    position = 0
    for match in _TEMPLATE.finditer(text.value):
        if match.start() > position:
            yield Text(text.value[position : match.start()])
        position = match.end()
        opened, closed = len(match["open"]), len(match["close"])
        if opened > 1:  # doubled braces make the template a text
            yield Text(match[0][1:-1] if closed >= opened else match[0][1:])
            continue
        yield _template(key, match["space"], match["name"], text, values, revision, report)
        if closed > 1:
            yield Text("}" * (closed - 1))
    if position < len(text.value) or not position:
        yield Text(text.value[position:])


def _template(
    key: str,
    space: str,
    name: str,
    text: Traced[str],
    values: Mapping[str, Traced[str]],
    revision: Traced[str] | None,
    report: Report,
) -> Part:
    span = text.origin.span
    assert span is not None  # noqa: S101 - it stands in a file
    if space == "config" and name in values:
        return Param(name, span)
    if space == "launch" and name in _LAUNCH:
        return Param(_LAUNCH[name], span)
    if space == "launch" and name == "model_revision":
        return Text("" if revision is None else revision.value)
    known = values if space == "config" else [*_LAUNCH, "model_revision"]
    report.error(
        "SPK153",
        f"env.{key} cannot take {{{space}.{name}}}: "
        + ("no parameter has that name" if space == "config" else "nothing knows it before the launch"),
        span,
        hint=did_you_mean(name, known) or f"known after {space}. are {', '.join(sorted(known)) or 'none'}",
    )
    return Text("")
