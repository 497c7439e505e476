"""Checks of command lines without a recipe."""

from __future__ import annotations

import shlex

from sparkc.diagnostics import Report
from sparkc.diagnostics.model import Diagnostic
from sparkc.flags import rules_sglang, rules_vllm
from sparkc.flags.check import check_uses
from sparkc.flags.dumps import RECORDED
from sparkc.flags.findings import Findings
from sparkc.flags.grammar import CommandLine
from sparkc.flags.situation import Situation
from sparkc.flags.versions import pick_version
from sparkc.traced import Traced, from_flag

_IMAGES = {"vllm": "vllm/vllm-openai", "sglang": "lmsysorg/sglang"}
_RULES = {"vllm": rules_vllm.RULES, "sglang": rules_sglang.RULES}


def parse(command: str, engine: str = "vllm", version: str = "0.33.0") -> tuple[CommandLine, Findings, Report]:
    """Read what stands after ``serve`` (vLLM) or after the module (SGLang) as a release image's engine does."""
    report = Report()
    image = f"{_IMAGES[engine]}:v{version}"
    findings = Findings(pick_version(engine, None, image, RECORDED[engine]), report)
    words = tuple(Traced(word, from_flag("given")) for word in shlex.split(command))
    return CommandLine(findings, words, positional=engine == "vllm"), findings, report


def check(command: str, engine: str = "vllm", version: str = "0.33.0", *, nnodes: int = 1) -> tuple[Diagnostic, ...]:
    """Return everything that is found in a command."""
    line, findings, report = parse(command, engine, version)
    values = check_uses(line, findings, in_shell=False)
    for rule in _RULES[engine]:
        rule(Situation(engine, nnodes, line, values, findings))
    return report.diagnostics


def said(command: str, engine: str = "vllm", version: str = "0.33.0", *, nnodes: int = 1) -> list[str]:
    """Return severity and code of what is found, e.g. ``error SPK801``."""
    return [f"{one.severity.value} {one.code}" for one in check(command, engine, version, nnodes=nnodes)]
