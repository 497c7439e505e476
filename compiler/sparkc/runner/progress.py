"""What a run tells while it goes on. The displays live in ``cli/``; the runner knows only this."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A display. Calls may come from several threads."""

    def phase(self, title: str) -> None:
        """A new part of the run begins, such as ``upload``."""

    def node(self, node: str, state: str, detail: str = "") -> None:
        """What a node is at now; a later call replaces it.

        ``state`` changes seldom and is printed as it does. ``detail`` may change each second: live displays alone
        show it.
        """

    def say(self, line: str) -> None:
        """A line that stays."""


class Silent:
    """No display at all, for ``--json``."""

    def phase(self, title: str) -> None:
        """Nothing is shown."""

    def node(self, node: str, state: str, detail: str = "") -> None:
        """Nothing is shown."""

    def say(self, line: str) -> None:
        """Nothing is shown."""
