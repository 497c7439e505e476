"""The recorded parsers: one packed file per engine version, and per engine a history of names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from sparkc import resources
from sparkc.record import dataclass

RECORDED: Mapping[str, tuple[str, ...]] = {
    "vllm": ("0.11.0", "0.13.0", "0.15.1", "0.17.1", "0.20.2", "0.23.0", "0.26.0", "0.29.0", "0.32.0", "0.33.0"),
    "sglang": ("0.5.5", "0.5.8", "0.5.11", "0.5.15", "0.5.19", "0.5.23"),
}


@dataclass(frozen=True)
class Option:
    """One option of an engine's parser.

    ``kind`` of value: switch (none), text, folded, int, float, human (``128k``), human-or-auto, json, json:Class,
    json-or-text. ``nargs`` as argparse has it. ``none``: the empty text and ``None`` mean no value. ``limits`` are
    pairs such as ("ge", 1). ``suggested`` are values that the parser itself does not insist on.
    ``deprecated``: a note on what to use instead, "" where the engine names nothing, None for options in good standing.
    """

    name: str
    names: tuple[str, ...]
    off: tuple[str, ...] = ()
    kind: str = "text"
    nargs: str | None = None
    none: bool = False
    choices: tuple[str, ...] = ()
    suggested: tuple[str, ...] = ()
    limits: tuple[tuple[str, float], ...] = ()
    collects: bool = False
    deprecated: str | None = None


class Dump:
    """The parser of one version. Option records are made when they are asked for: a command uses a few of hundreds."""

    def __init__(self, packed: Mapping[str, Any]) -> None:
        self.engine: str = packed["engine"]
        self.version: str = packed["version"]
        self._options: Mapping[str, Any] = packed["options"]
        self.classes: Mapping[str, Mapping[str, Any]] = packed.get("classes", {})
        self.registries: Mapping[str, list[str]] = packed.get("registries", {})
        self.environment = frozenset(packed.get("environment", ()))
        self.spellings: dict[str, str] = {}
        for name, record in self._options.items():
            self.spellings[name] = name
            for other in (*record.get("also", ()), *record.get("off", ())):
                self.spellings[other] = name

    def option(self, spelling: str) -> Option | None:
        """Return the option that is written like this, or None."""
        name = self.spellings.get(spelling)
        if name is None:
            return None
        record = self._options[name]
        return Option(
            name=name,
            names=(name, *record.get("also", ())),
            off=tuple(record.get("off", ())),
            kind=record["kind"],
            nargs=record.get("nargs"),
            none=record.get("none", False),
            choices=tuple(str(choice) for choice in record.get("choices", ()) if choice is not None),
            suggested=tuple(record.get("suggested", ())),
            limits=tuple((key, record[key]) for key in ("gt", "ge", "lt", "le") if key in record),
            collects=record.get("collects", False),
            deprecated=_deprecation(record.get("deprecated")),
        )

    def names(self) -> list[str]:
        """Return the options' primary names and aliases, without their negative forms."""
        return [name for option, record in self._options.items() for name in (option, *record.get("also", ()))]

    def starting_with(self, prefix: str) -> list[str]:
        """Return the spellings that argparse would complete ``prefix`` to."""
        return [spelling for spelling in self.spellings if spelling.startswith(prefix)]


@cache
def load(engine: str, version: str) -> Dump:
    """Return a recorded parser; ``version`` is one of :data:`RECORDED`."""
    return Dump(json.loads(resources.read_code(f"flags/data/{engine}-{version}.json")))


def lifetime(engine: str, name: str) -> tuple[str, ...]:
    """Return the recorded versions that know a flag or an environment variable; () for one that none or all know."""
    packed = json.loads(resources.read_code(f"flags/data/{engine}-history.json"))
    digits: str = packed["names"].get(name, "")
    return tuple(version for version, digit in zip(RECORDED[engine], digits, strict=False) if digit == "1")


def newer(version: str, than: str) -> bool:
    """Return whether one recorded version of an engine comes after another."""
    order = next(known for known in RECORDED.values() if than in known)
    return order.index(version) > order.index(than)


def departure(engine: str, last: str) -> str:
    """Return the words that tell when something went whose last recorded version is ``last``."""
    following = RECORDED[engine][RECORDED[engine].index(last) + 1]
    return f"removed after {last}, in {following} at the latest"


def _deprecation(note: bool | str | None) -> str | None:
    """Some engines put the replacement's bare name there, others a sentence that also names the flag itself."""
    if note is None:
        return None
    return note if isinstance(note, str) else ""
