"""Typed look-ups in config.json, whose keys differ from family to family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WRAPPERS = ("thinker_config", "text_config", "llm_config", "language_config")
_LARGEST = 10**9  # more layers, heads or hidden units than any model has; keeps absurd files from absurd sums


class ConfigFault(Exception):  # noqa: N818 - it becomes a diagnostic where the file's name is known
    """config.json lacks what the sum needs, or says something that no formula here covers; ``hint`` says what to do."""

    def __init__(
        self,
        message: str,
        hint: str = "give `cache_bytes_per_token` in a --model-info file, from the engine's own log of a run",
    ) -> None:
        super().__init__(message)
        self.hint = hint


class Config:
    """The language model's part of config.json. Multimodal models keep it in a section of its own."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        values = dict(whole)
        inner: Any = whole
        # An omni model wraps its thinker, which wraps its text.
        while isinstance(inner, Mapping):
            inner = next((inner[key] for key in WRAPPERS if isinstance(inner.get(key), Mapping)), None)
            values.update(inner or {})
        self._values = values

    def has(self, key: str) -> bool:
        """Return whether ``key`` is there with a value."""
        return self._values.get(key) is not None

    def raw(self, key: str) -> Any:
        """Return a value as it is, None when it is absent."""
        return self._values.get(key)

    def section(self, key: str) -> Config | None:
        """Return the mapping under ``key``."""
        value = self._values.get(key)
        return Config(value) if isinstance(value, Mapping) else None

    def first(self, *keys: str) -> int | None:
        """Return the first of ``keys`` that holds a whole number from 0 up."""
        for key in keys:
            value = self._values.get(key)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
                return value
        return None

    def number(self, *keys: str, default: int | None = None) -> int:
        """Return the first of ``keys``, else ``default``.

        Raises:
            ConfigFault: none is there and there is no default.
        """
        found = self.first(*keys)
        if found is not None:
            return found
        if default is None:
            raise ConfigFault(f"has no {keys[0]}", f"copy it into a --model-info file, with {keys[0]} added")
        return default

    def items(self, key: str) -> list[Any] | None:
        """Return a list, None when there is none."""
        value = self._values.get(key)
        return value if isinstance(value, list) else None
