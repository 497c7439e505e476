"""Formats that are recognised so that no other dialect misreads them, and that cannot be read."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.reading.node import Document, Scalar
from sparkc.reading.source import Span

_READABLE = 'sparkc reads native recipes (sparkc: 1), spark-vllm-docker recipes (recipe_version: "1") and sm121 TOML'


def is_launch_script(name: str) -> bool:
    """Return whether a file is a launch script, by its name."""
    return name.lower().endswith(".sh")


def is_sparkrun(document: Document) -> bool:
    """Files with ``runtime``, with ``{model}`` in the command, or with a version that is absent or not "1"."""
    command, version = document.root.get("command"), document.root.get("recipe_version")
    if document.root.get("runtime") is not None or (isinstance(command, Scalar) and "{model}" in command.text):
        return True
    if version is None:
        return command is not None or document.root.get("container") is not None
    return isinstance(version, Scalar) and version.text != "1"


def refuse_launch_script(name_span: Span, report: Report) -> None:
    """Report that a launch script cannot be compiled."""
    report.error(
        "SPK131", "launch scripts cannot be compiled", name_span, hint=f"{_READABLE}; put its command into one"
    )


def refuse_sparkrun(document: Document, report: Report) -> None:
    """Report that a sparkrun recipe cannot be compiled, at the key that makes it one."""
    keys = {entry.key.text: entry.key.span for entry in document.root.entries}
    span = keys.get("runtime") or keys.get("recipe_version") or keys.get("command") or document.root.span
    report.error("SPK131", "this is a sparkrun recipe, and those cannot be compiled", span, hint=_READABLE)
