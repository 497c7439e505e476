"""Where everything stands in a TOML file: structure and places, without values.

tomli decides what is valid TOML and what strings mean, but tells no positions. This scan follows the same
grammar loosely: it stops at what it does not understand, and leaves the complaint to tomli.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import tomli

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+""""{0,2}' r"|'''(?:[^']|'(?!''))*+''''{0,2}" r'|"(?:[^"\\\n]|\\.)*+"' r"|'[^'\n]*'",
    re.DOTALL,
)
_TYPED = re.compile(r"[^\s,\[\]{}#=\"']+(?: [0-9]{2}:[^\s,\]}#]+)?")


@dataclass(frozen=True)
class Place:
    """Offsets of a piece of the text, the end exclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class Leaf:
    """A string or a typed value."""

    place: Place


@dataclass
class Array:
    """An array, or an array of tables (``of_tables``), which more headers may extend."""

    place: Place
    items: list[Found] = field(default_factory=list)
    of_tables: bool = False


@dataclass
class Table:
    """A table; ``header`` is the place of the header that defined it, once there was one.

    ``keys`` has the place of each key as first written. ``closed`` are inline tables: nothing may be added.
    """

    place: Place
    keys: dict[str, Place] = field(default_factory=dict)
    values: dict[str, Found] = field(default_factory=dict)
    header: Place | None = None
    closed: bool = False


Found = Leaf | Array | Table


@dataclass(frozen=True)
class Duplicate:
    """A key or table header that was there before."""

    name: str
    place: Place
    first: Place


def unquote(token: str) -> str:
    """Return the name that a key stands for; an escape that tomli refuses stays as it is, for tomli to report."""
    if token[0] == "'":
        return token[1:-1]
    if token[0] != '"':
        return token
    if "\\" not in token:
        return token[1:-1]
    try:
        return next(iter(tomli.loads(f"{token} = 0")))
    except tomli.TOMLDecodeError:
        return token


class Stop(Exception):  # noqa: N818 - control flow inside this package, not an error
    """The scan cannot go on at ``offset``; ``too_deep`` tells why."""

    def __init__(self, offset: int, *, too_deep: bool = False) -> None:
        super().__init__(offset)
        self.offset = offset
        self.too_deep = too_deep


class Scan:
    """One pass over ``text``; afterwards ``root``, ``duplicates`` and ``stop`` say what was found."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.at = 0
        self.max_depth = max_depth
        self.root = Table(Place(0, len(text)))
        self.duplicates: list[Duplicate] = []
        self.stop: Stop | None = None
        try:
            self._document()
        except Stop as stop:
            self.stop = stop

    def _document(self) -> None:
        table = self.root
        depth = 1
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table, depth = self._header()
            else:
                self._pair(table, depth)
            self._skip(_SPACE)
            if self.at < len(self.text) and self.text[self.at] not in "\n#":
                self._fail()
            self._skip(_BLANK)

    def _header(self) -> tuple[Table, int]:
        start = self.at
        brackets = "[[" if self.text.startswith("[[", start) else "["
        self.at += len(brackets)
        keys = self._dotted(1)
        self._expect("]" * len(brackets))
        place = Place(start, self.at)
        table = self._descend(self.root, keys[:-1])
        name, key_place = keys[-1]
        present = table.values.get(name)
        dotted = ".".join(key for key, _ in keys)
        if brackets == "[[":
            if present is None:
                present = self._put(table, name, key_place, Array(place, of_tables=True))
            fresh = Table(place, header=place)
            if isinstance(present, Array) and present.of_tables:
                present.items.append(fresh)
            else:
                self.duplicates.append(Duplicate(dotted, key_place, table.keys[name]))
            return fresh, len(keys) + 2
        if present is None:
            present = self._put(table, name, key_place, Table(place))
        if not isinstance(present, Table) or present.header is not None or present.closed:
            self.duplicates.append(Duplicate(dotted, key_place, table.keys[name]))
            return Table(place), len(keys) + 1
        present.header = present.place = place
        return present, len(keys) + 1

    def _pair(self, table: Table, depth: int) -> None:
        keys = self._dotted(depth)
        self._expect("=")
        self._skip(_SPACE)
        value = self._value(depth + len(keys))
        table = self._descend(table, keys[:-1])
        name, place = keys[-1]
        if name in table.values:
            self.duplicates.append(Duplicate(name, place, table.keys[name]))
        else:
            self._put(table, name, place, value)

    def _descend(self, table: Table, keys: list[tuple[str, Place]]) -> Table:
        for name, place in keys:
            value = table.values.get(name) or self._put(table, name, place, Table(place))
            if isinstance(value, Array) and value.of_tables:
                value = value.items[-1]
            if not isinstance(value, Table) or value.closed:
                self.duplicates.append(Duplicate(name, place, table.keys[name]))
                value = Table(place)
            table = value
        return table

    def _put(self, table: Table, name: str, place: Place, value: Found) -> Found:
        table.keys[name] = place
        table.values[name] = value
        return value

    def _dotted(self, depth: int) -> list[tuple[str, Place]]:
        keys: list[tuple[str, Place]] = []
        while True:
            self._skip(_SPACE)
            keys.append(self._key())
            if depth + len(keys) > self.max_depth:
                raise Stop(keys[-1][1].start, too_deep=True)
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _key(self) -> tuple[str, Place]:
        start = self.at
        match = _BARE_KEY.match(self.text, start) or _STRING.match(self.text, start)
        if match is None or match.group().startswith(('"""', "'''")):
            self._fail()
        self.at = match.end()
        return unquote(match.group()), Place(start, self.at)

    def _value(self, depth: int) -> Found:
        start = self.at
        if self.text.startswith(("[", "{"), start):
            if depth > self.max_depth:
                raise Stop(start, too_deep=True)
            return self._array(depth) if self.text[start] == "[" else self._inline_table(depth)
        match = _STRING.match(self.text, start) or _TYPED.match(self.text, start)
        if match is None:
            self._fail()
        self.at = match.end()
        return Leaf(Place(start, self.at))

    def _array(self, depth: int) -> Array:
        start = self.at
        items = [self._value(depth + 1) for _ in self._elements("]")]
        return Array(Place(start, self.at), items)

    def _inline_table(self, depth: int) -> Table:
        table = Table(Place(self.at, self.at))
        for _ in self._elements("}"):
            self._pair(table, depth)
        table.place = Place(table.place.start, self.at)
        table.closed = True
        return table

    def _elements(self, closing: str) -> Iterator[None]:
        """Stop at each element between the opening bracket and ``closing``; the caller reads the element."""
        self.at += 1
        self._skip(_BLANK)
        while not self.text.startswith(closing, self.at):
            yield
            self._skip(_BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
                self._skip(_BLANK)
            elif not self.text.startswith(closing, self.at):
                self._fail()
        self.at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _expect(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            self._fail()
        self.at += len(token)

    def _fail(self) -> NoReturn:
        raise Stop(self.at)
