"""The logs of all ranks as one: merged by time, with each node's clock put right."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock

from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.group import Group, Member
from sparkc.runner.log_lines import log_text, split_stamp
from sparkc.runner.node_script import Script, node_script
from sparkc.runner.parse_docker import timestamp

# Lines of different ranks are put in order if they arrive within so many seconds of each other.
_WINDOW = 0.6
_TICK = 0.2
_RETRY_SECONDS = 3.0


@dataclass(frozen=True)
class LogLine:
    """A line of a rank's log, or with ``ours`` a remark about it. ``at`` is on this machine's clock."""

    at: float
    rank: int
    text: str
    ours: bool = False


@dataclass(frozen=True)
class Selection:
    """Which lines: the last ``tail`` of each rank ("all" for all), since a time in Docker's notation, and go on."""

    tail: str = "all"
    since: str = ""
    follow: bool = False


def logs(group: Group, selection: Selection, show: Callable[[LogLine], None]) -> None:
    """Hand the lines of all ranks to ``show``, in order of time, one at a time.

    A node that cannot be reached, or a rank without a container, is a remark. When following, a lost connection is
    made again.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    merged = _Merged(len(group.members))
    for number, error in group.unreached.items():
        merged.add(LogLine(time.time(), number, error.message, ours=True))
    readers = {member.number: partial(_read, group, member, selection, merged) for member in group.members}
    group.processes.fan_out({-1: partial(_print, group, merged, show, selection.follow), **readers})


def last_logs(group: Group, lines: int) -> dict[int, tuple[str, ...] | SparkcError]:
    """Return the last lines of each rank's log, as they can be shown, by rank number; for a failure's report."""
    outcomes = group.processes.fan_out({member.number: partial(_last, member, lines) for member in group.members})
    return dict(sorted({**group.unreached, **outcomes}.items()))


def _last(member: Member, count: int) -> tuple[str, ...]:
    found: list[str] = []

    def on_line(line: str) -> bool:
        found.append(line)
        return True

    member.connection.stream(_script(member, Selection(str(count))), on_line)
    if found and found[0].endswith(" -"):
        return ("there is no container",)
    stamped = (split_stamp(line) for line in found[1:])
    return tuple(log_text(parts[1] if parts else line) for parts, line in zip(stamped, found[1:], strict=True) if line)


class _Merged:
    """Lines of several ranks that wait for their turn."""

    def __init__(self, readers: int) -> None:
        self._lock = Lock()
        self._readers = readers
        self._heap: list[tuple[float, int, int, LogLine, float]] = []
        self._count = 0

    def add(self, line: LogLine) -> None:
        """Take in a line; those of a rank come in their order."""
        with self._lock:
            self._count += 1
            heapq.heappush(self._heap, (line.at, line.rank, self._count, line, time.monotonic()))

    def close(self) -> None:
        """One rank has no more lines."""
        with self._lock:
            self._readers -= 1

    @property
    def open(self) -> bool:
        """Whether lines may still come."""
        with self._lock:
            return self._readers > 0

    def due(self, older_than: float) -> Iterator[LogLine]:
        """Yield the lines, first the earliest, as long as they arrived before a moment of the monotonic clock."""
        while True:
            with self._lock:
                if not self._heap or self._heap[0][4] > older_than:
                    return
                line = heapq.heappop(self._heap)[3]
            yield line


def _print(group: Group, merged: _Merged, show: Callable[[LogLine], None], follow: bool) -> None:
    while merged.open:
        group.processes.pause(_TICK)
        if follow:
            for line in merged.due(time.monotonic() - _WINDOW):
                show(line)
    for line in merged.due(float("inf")):
        show(line)


class _Reader:
    """Turns what ``scripts/logs.sh`` prints for one rank into lines with their time."""

    def __init__(self, number: int, merged: _Merged) -> None:
        self._number = number
        self._merged = merged
        self._ahead: float | None = None
        self._at = 0.0
        self.last_stamp = ""
        self._skipping = ""
        self._lost = False
        self.ended = False

    def begin(self) -> None:
        """A connection begins: its first line is the clock, and lines up to the last one seen come again."""
        self._ahead = None
        self._skipping = self.last_stamp

    def line(self, line: str) -> bool:
        """Take in one line; the answer is always to go on."""
        if self._ahead is None:
            self._clock(line)
            return True
        stamped = split_stamp(line)
        if stamped is not None:
            stamp, text = stamped
            # Docker's own stamps of one log never have different lengths, so that they compare as text.
            if not self._skipping or stamp > self._skipping:
                self.last_stamp = stamp
                self._at = (timestamp(stamp) or self._at) - self._ahead
                self._merged.add(LogLine(self._at, self._number, log_text(text)))
        elif line.startswith("ended "):
            self.ended = True
            _, *how = line.split()
            self.remark("the container is gone" if how == ["removed"] else f"the container has {' '.join(how)}")
        elif line:
            self.remark(log_text(line))
        return True

    def lost(self, why: str) -> None:
        """Say that the connection was lost."""
        self._lost = True
        self.remark(why)

    def remark(self, text: str) -> None:
        """Say something about the rank, after what it last said."""
        self._merged.add(LogLine(max(self._at, time.time()), self._number, text, ours=True))

    def _clock(self, line: str) -> None:
        clock, _, container = line.partition(" ")
        try:
            self._ahead = float(clock) - time.time()
        except ValueError:
            self._ahead = 0.0
            self.ended = True
            self.remark(f"Docker gives no log: {log_text(line)}")
            return
        if container == "-":
            self.ended = True
            self.remark("there is no container")
        elif self._lost:
            self._lost = False
            self.remark("connected again")


def _read(group: Group, member: Member, selection: Selection, merged: _Merged) -> None:
    reader = _Reader(member.number, merged)
    try:
        while not reader.ended:
            reader.begin()
            again = Selection("all", reader.last_stamp, selection.follow) if reader.last_stamp else selection
            try:
                member.connection.stream(_script(member, again), reader.line)
            except SparkcError as error:
                reader.lost(f"{error.message}{'; trying again' if selection.follow else ''}")
            if not selection.follow:
                return
            if not reader.ended:
                group.processes.pause(_RETRY_SECONDS)
    finally:
        merged.close()


def _script(member: Member, selection: Selection) -> Script:
    return node_script(
        "logs",
        BUNDLE=member.manifest.name,
        TAIL=selection.tail,
        SINCE=selection.since,
        FOLLOW="yes" if selection.follow else "no",
    )
