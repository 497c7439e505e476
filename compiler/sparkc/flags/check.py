"""The flag check: one engine command and its environment against the recorded parser of the engine's version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from sparkc.diagnostics import Report
from sparkc.diagnostics.model import Related
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.engines.arguments import Words, flag_name
from sparkc.flags import dumps, rules_sglang, rules_vllm
from sparkc.flags.dumps import Dump
from sparkc.flags.findings import Findings
from sparkc.flags.grammar import CommandLine, Use
from sparkc.flags.json_values import JsonValues
from sparkc.flags.nearest import nearest
from sparkc.flags.situation import Situation
from sparkc.flags.values import check_value
from sparkc.flags.versions import Version, numbers, pick_version, release_of
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.model import Recipe, Script
from sparkc.traced import Traced

# Mods of ours that leave the engine's own code alone; any other may teach it flags.
_HARMLESS_MODS = frozenset({"drop-caches", "drop-caches-privileged", "chat-template-chatml"})
# Flags that a mod adds to its engine.
_BROUGHT = {"gpu-mem-util-gb": "--gpu-memory-utilization-gb"}
# Engines check these themselves, except in scripts.
# Planning has told of a variable that is one slip away from one that it sets itself.
_NEAR_MISS = "SPK333"
_CHECKED = frozenset({"--port"})
_PARSERS = {"vllm": "vllm", "vllm-ray": "vllm", "sglang": "sglang"}
_RULES = {"vllm": rules_vllm.RULES, "sglang": rules_sglang.RULES}
# Names that a plugin of the user's adds to a registry.
_PLUGINS = {"--tool-call-parser": "--tool-parser-plugin", "--reasoning-parser": "--reasoning-parser-plugin"}


def check_command(
    engine: str,
    recipe: Recipe,
    words: Words,
    env: Mapping[str, Traced[str]],
    mods: Sequence[str],
    report: Report,
    *,
    nnodes: int = 1,
    image: Traced[str] | None = None,
) -> None:
    """Report what the engine would refuse, ignore or take otherwise than it is meant.

    ``engine`` is the engine's name in our registry; those without a recorded parser are not checked. ``words`` is
    rank 0's command before the flags that sparkc adds for each rank, ``env`` rank 0's environment, ``mods`` the base
    names of the mods that run. ``image`` is the image that is used, by default the recipe's.
    """
    parser = _PARSERS.get(engine)
    found = find_engine([word.value for word in words])
    if parser is None or found is None or found.engine != parser:
        return
    image = image or recipe.image
    basis = pick_version(parser, recipe.engine_version, image.value, dumps.RECORDED[parser])
    _check_versions(recipe, image, parser, report)
    findings = Findings(
        basis,
        report,
        patched=not _HARMLESS_MODS.issuperset(mods),
        brought=frozenset(_BROUGHT[mod] for mod in mods if mod in _BROUGHT),
    )
    arguments, positional = _arguments(words, found.start)
    line = CommandLine(findings, arguments, positional=positional)
    in_shell = isinstance(recipe.command, Script)
    values = check_uses(line, findings, in_shell=in_shell, checked=frozenset() if in_shell else _CHECKED)
    situation = Situation(engine, nnodes, line, values, findings)
    for rule in _RULES[parser]:
        rule(situation)
    hinted = {found.message for found in report.diagnostics if found.code == _NEAR_MISS}
    check_environment(
        {name: value for name, value in env.items() if f"unknown variable {name}" not in hinted}, findings
    )


def check_uses(
    line: CommandLine, findings: Findings, *, in_shell: bool, checked: frozenset[str] = frozenset()
) -> JsonValues:
    """Check every option by itself.

    ``in_shell``: a value with ``$`` is the shell's to find. The values of ``checked`` options are not looked at.
    """
    for use in line.uses:
        _check_standing(use, findings)
        if use.keys or use.option.name in checked:
            continue
        for value in use.values:
            if in_shell and ("$" in value.value or "`" in value.value):
                continue
            check_value(use, value, findings)
            _check_registry(use, value, line, findings)
    _check_names(line, findings)
    _check_file(line, findings)
    return JsonValues(line, findings, in_shell=in_shell)


def check_environment(env: Mapping[str, Traced[str]], findings: Findings) -> None:
    """Report ``VLLM_*`` variables that the version does not read: it only logs a warning about them.

    A build of somebody's own has variables of its own; those are told in one note.
    """
    known = findings.dump.environment
    unread = {name: value for name, value in env.items() if name.startswith("VLLM_") and name not in known}
    others: dict[str, Traced[str]] = {}
    for name, value in unread.items() if known else ():
        life = dumps.lifetime(findings.dump.engine, name)
        before = [version for version in life if dumps.newer(findings.basis.known, version)]
        near = did_you_mean(name, [other for other in known if _alike(name, other)])
        if not (before or near or findings.complete):
            others[name] = value
            continue
        since = f": {dumps.departure(findings.dump.engine, before[-1])}" if before else ""
        findings.ignored(
            "SPK822",
            f"{findings.basis.name} does not read {name}{since}",
            value,
            hint="remove it" if before else near or "remove it, or use the image that reads it",
            known=partial(_reads, name=name),
        )
    if others:
        findings.note(
            "SPK822",
            f"{findings.basis.name} does not read {', '.join(others)}: the image must bring what does",
            next(iter(others.values())),
        )


def _reads(dump: Dump, name: str) -> bool:
    return name in dump.environment


def _alike(name: str, other: str) -> bool:
    """Cheaper than difflib and stricter: at most one word differs, or only underscores do."""
    mine, its = name.split("_"), other.split("_")
    return len(set(mine) ^ set(its)) <= 2 or name.replace("_", "") == other.replace("_", "")


def _check_versions(recipe: Recipe, image: Traced[str], parser: str, report: Report) -> None:
    """Warn where a recipe and the tag of its image name two versions."""
    declared, tagged = recipe.engine_version, release_of(image.value)
    if declared is None or tagged is None or tagged[0] != parser:
        return
    written: Version = numbers(declared.value)
    if written != numbers(tagged[1]) and not tagged[1].startswith(f"{declared.value.removeprefix('v')}."):
        report.warning(
            "SPK823",
            f"engine_version is {declared.value}, but the image's tag says {tagged[1]}",
            declared.origin.span,
            hint="correct one of them; the flags are checked against engine_version",
        )


def _arguments(words: Words, start: int) -> tuple[Words, bool]:
    """Return what the parser gets, and whether it takes the model as a word of its own."""
    for index in range(start, len(words)):
        if words[index].value == "serve":
            return words[index + 1 :], True
        if words[index].value == "-m":
            return words[index + 2 :], False
    return (), False


def _check_standing(use: Use, findings: Findings) -> None:
    note = use.option.deprecated
    if note is None:
        return
    hint = f"use {note}" if note.startswith("--") else note or "the next version may lack it"
    findings.doubtful("SPK803", f"{use.option.name} is deprecated in {findings.basis.name}", use.flag, hint=hint)


def _check_registry(use: Use, value: Traced[str], line: CommandLine, findings: Findings) -> None:
    """Names that the parser takes as any text, and the engine looks up later."""
    name, text = use.option.name, value.value
    if text in ("", "None") or not findings.dump.registries.get(name):
        return
    plugin = _PLUGINS.get(name)
    if plugin is not None and line.last(plugin) is not None:
        return
    if not _registered(findings.dump, name, text):
        findings.unknown(
            "SPK809",
            f"{name} of {findings.basis.name} does not know {text!r}",
            value,
            hint=nearest(text, findings.dump.registries[name])
            or (f"register it with {plugin}" if plugin else "see the engine's documentation for its names"),
            known=lambda other: _registered(other, name, text),
        )


def _registered(dump: Dump, name: str, text: str) -> bool:
    """Parsers' names are exact; vLLM folds the case of the others."""
    known = dump.registries.get(name, [])
    if name in _PLUGINS:
        return text in known
    return text.lower() in {entry.lower() for entry in known}


def _check_file(line: CommandLine, findings: Findings) -> None:
    """Both engines look for the exact word ``--config``; with an equals sign argparse takes it and nobody reads it."""
    use = line.last("--config")
    if use is not None and "=" in use.flag.value:
        findings.doubtful(
            "SPK816", f"the engine ignores {use.flag.value}", use.flag, hint="write --config and the file as two words"
        )


def _check_names(line: CommandLine, findings: Findings) -> None:
    """Report one option under two names; the same name twice is reported where the words are planned."""
    first: dict[str, Use] = {}
    for use in line.uses:
        if use.keys or use.option.collects:
            continue
        earlier = first.setdefault(use.option.name, use)
        same_name = flag_name(use.flag.value) == flag_name(earlier.flag.value)
        differs = [value.value for value in use.values] != [value.value for value in earlier.values]
        if earlier is use or same_name or not (differs or use.off != earlier.off):
            continue
        findings.doubtful(
            "SPK815",
            f"{use.spelling} and {earlier.spelling} are one option, of which the last one counts",
            use.flag,
            hint="keep the one that is meant",
            related=[] if earlier.flag.origin.span is None else [Related("also given here", earlier.flag.origin.span)],
        )
