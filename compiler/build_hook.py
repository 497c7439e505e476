"""hatchling build hook: prepares validators and templates for wheels and editable installs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrepareHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes ``sparkc/_prepared`` and adds it to the wheel although git ignores it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        """Prepare before the wheel is filled; a source archive carries only sources."""
        if self.target_name != "wheel":
            return
        sys.path.insert(0, str(Path(self.root) / "compiler"))
        from sparkc.prepare import prepare

        prepare()
        build_data["artifacts"].append("compiler/sparkc/_prepared/**")
