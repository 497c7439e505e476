"""The error for what goes wrong in the world: a command, a host, a disk. Faults of the input are diagnostics."""

from __future__ import annotations


class SparkcError(Exception):
    """The world failed. The command line prints it and exits with 1.

    Args:
        message: what failed, in one sentence without a full stop.
        command: the command that was run, as it can be typed.
        host: the node it ran on, as named in the inventory; None for this machine.
        exit_code: the command's exit code.
        output: what the command printed, usually the end of it.
        hint: what to type next.
    """

    def __init__(
        self,
        message: str,
        *,
        command: str | None = None,
        host: str | None = None,
        exit_code: int | None = None,
        output: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.command = command
        self.host = host
        self.exit_code = exit_code
        self.output = output
        self.hint = hint

    def __str__(self) -> str:
        """Return the whole report, one fact per line, fit for a terminal or an issue."""
        return self.facts + (f"\n  help: {self.hint}" if self.hint else "")

    @property
    def facts(self) -> str:
        """The report without the hint."""
        lines = [f"{self.host}: {self.message}" if self.host else self.message]
        if self.command is not None:
            lines.append(f"  command: {self.command}")
        if self.exit_code is not None:
            lines.append(f"  exit code: {self.exit_code}")
        if self.output and self.output.strip():
            lines.append("  output:")
            lines.extend(f"    {line}" for line in self.output.strip().splitlines())
        return "\n".join(lines)
