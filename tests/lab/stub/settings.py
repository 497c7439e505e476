"""The switches ``STUB_…`` that make the stub fail: from the environment, over it from a file on the node.

``STUB_X_RANK=2`` beside ``STUB_X=…`` limits the switch to rank 2.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

# In a folder that every bundle mounts: a test makes one node fail without changing the bundle.
FILE = Path("/root/.cache/huggingface/stub.env")


@dataclass(frozen=True)
class Settings:
    values: dict[str, str]
    rank: int

    @classmethod
    def read(cls, rank: int) -> Settings:
        """Return what holds for a rank."""
        values = {key: value for key, value in os.environ.items() if key.startswith("STUB_")}
        if FILE.is_file():
            lines = FILE.read_text(encoding="utf-8").splitlines()
            values |= dict(line.split("=", 1) for line in lines if "=" in line)
        return cls(values, rank)

    def text(self, name: str) -> str | None:
        """Return a switch's value, or None when it is unset or meant for another rank."""
        if self.values.get(f"{name}_RANK", str(self.rank)) != str(self.rank):
            return None
        return self.values.get(name) or None

    def on(self, name: str) -> bool:
        return self.text(name) not in (None, "0")

    def seconds(self, name: str) -> float | None:
        text = self.text(name)
        return None if text is None else float(text)
