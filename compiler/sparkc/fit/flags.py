"""Values of a command's flags, as numbers."""

from __future__ import annotations

import json
from typing import Any

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.traced import Traced

# A text that vLLM's own argument parser takes: 128k is 128000, 128K is 131072.
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Flags:
    """Looks flags up in a command; a value that is no number is reported where it stands."""

    def __init__(self, words: Words, report: Report) -> None:
        self._words = words
        self._report = report

    def there(self, *names: str) -> bool:
        """Return whether a flag occurs."""
        return arguments.has(self._words, names)

    def text(self, *names: str) -> Traced[str] | None:
        """Return a flag's last value."""
        return arguments.last_value(self._words, names)

    def choice(self, default: str, *names: str) -> str:
        """Return a flag's last value in lower case, else ``default``."""
        found = self.text(*names)
        return default if found is None else found.value.lower()

    def count(self, *names: str) -> int | None:
        """Return a whole number above 0, with vLLM's units."""
        found = self.text(*names)
        if found is None:
            return None
        factor = _UNITS.get(found.value[-1:], 1)
        digits = found.value[:-1] if factor > 1 else found.value
        number = self._decimal(digits)
        if number is None or number <= 0 or (factor == 1 and number != int(number)):
            self._refuse(names[0], found, "a whole number above 0")
            return None
        return int(number * factor)

    def decimal(self, *names: str, default: float | None = None, largest: float | None = None) -> float | None:
        """Return a number from 0 up to ``largest``."""
        found = self.text(*names)
        if found is None:
            return default
        number = self._decimal(found.value)
        if number is None or (largest is not None and not 0 < number <= largest):
            self._refuse(names[0], found, "a number" if largest is None else f"a number up to {largest:g}")
            return None
        return number

    def json(self, *names: str) -> dict[str, Any]:
        """Return a JSON object; empty when the flag is absent or no JSON, which is for the engine's check to say."""
        found = self.text(*names)
        try:
            value = json.loads(found.value) if found is not None else {}
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def graph_mode(self) -> str:
        """Return vLLM's CUDA graph mode in lower case, "" where the command leaves it to vLLM."""
        dotted = self.text("--compilation-config.cudagraph_mode", "-cc.cudagraph_mode")
        mode = dotted.value if dotted is not None else self.json("--compilation-config", "-cc").get("cudagraph_mode")
        return str(mode or "").lower()

    @staticmethod
    def _decimal(text: str) -> float | None:
        digits = text.replace(".", "", 1)
        return float(text) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None

    def _refuse(self, name: str, found: Traced[str], wanted: str) -> None:
        self._report.error(
            "SPK723",
            f"{name} is {found.value!r}, but the sum needs {wanted}",
            found.origin.span,
            hint="write the number itself" if "$" in found.value else f"write {wanted}",
        )
