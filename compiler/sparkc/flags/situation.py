"""What a rule about several flags may look at."""

from __future__ import annotations

from typing import Any

from sparkc.flags.findings import Findings
from sparkc.flags.grammar import CommandLine
from sparkc.flags.json_values import JsonValues
from sparkc.flags.values import number
from sparkc.flags.versions import Version
from sparkc.record import dataclass
from sparkc.traced import Traced


@dataclass(frozen=True)
class Situation:
    """A parsed command where it will run. ``engine`` is the name in our registry, e.g. ``vllm-ray``."""

    engine: str
    nnodes: int
    line: CommandLine
    json: JsonValues
    findings: Findings

    @property
    def version(self) -> Version:
        """The engine's version as far as it is known."""
        return self.findings.basis.version

    def given(self, name: str) -> tuple[Traced[str], int] | None:
        """Return an option's whole number and its place; None when it is absent, no number, or "none"."""
        use = self.line.last(name)
        if use is None or use.value is None:
            return None
        try:
            read = number(use.option, use.value.value)
        except ValueError:
            return None
        return None if read is None else (use.value, int(read))

    def size(self, name: str) -> int:
        """Return a parallel size, by default 1."""
        found = self.given(name)
        return found[1] if found is not None and found[1] > 0 else 1

    def config(self, name: str) -> dict[str, Any]:
        """Return the JSON object of an option, by default an empty one."""
        found = self.json.get(name)
        return found[1] if found is not None else {}

    def place(self, name: str) -> Traced[str]:
        """Return the last word of an option that is there, for a finding about it."""
        found = self.json.get(name)
        if found is not None:
            return found[0]
        use = self.line.last(name)
        if use is None:
            raise KeyError(name)
        return use.value or use.flag
