"""What the ranks' moments mean for the group: all serve, one failed and which first, or the time is over.

Times: ``now`` is a monotonic clock in seconds; ``wall`` is this machine's clock, against which each node's own is
compared, so that the first failure is found though the clocks differ.
"""

from __future__ import annotations

from threading import Lock

from sparkc.bundle.manifest import Manifest
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.beats import Beat, failed_at, failure, serves, state_words

# Where no rank of a group has a health check, a rank serves once it has run this long. A rank with one is healthy only
# when all others have joined it.
SETTLE_SECONDS = 5.0
# So long a rank may be out of reach, or its Docker without an answer, before the group is given up.
LOST_SECONDS = 45.0
# After a failure the other ranks may still tell that they failed earlier.
_HEARING_SECONDS = 4.0
# A log that stands still for so long while a rank loads is worth a word.
STILL_SECONDS = 120.0
# Page cache takes memory that the GPU of a Spark needs; less than this share of it does not matter.
_CACHE_SHARE = 0.2
_GIB = 1024**3


@dataclass(frozen=True)
class _Failure:
    at: float
    words: str
    hint: str | None


class Board:
    """What is known of all ranks of a group that is starting. Calls come from one thread per rank."""

    def __init__(self, manifest: Manifest, seconds: float, now: float) -> None:
        self._manifest = manifest
        self._seconds = seconds
        self._settle = 0.0 if any(rank.health for rank in manifest.ranks) else SETTLE_SECONDS
        self._began = now
        self._lock = Lock()
        self._beats: dict[int, Beat] = {}
        # How far a node's clock is ahead. A message takes its time, which makes it look less ahead, never more.
        self._ahead: dict[int, float] = {}
        self._still_since: dict[int, float] = {}
        self._noticed: set[int] = set()
        self._away: dict[int, tuple[float, float, str]] = {}
        self._failures: dict[int, _Failure] = {}
        self._first_heard: float | None = None
        self._served = False

    def beat(self, number: int, beat: Beat, now: float, wall: float) -> str | None:
        """Take in how a rank is; the answer is a line to tell the user, or None."""
        with self._lock:
            self._ahead[number] = max(beat.clock - wall, self._ahead.get(number, beat.clock - wall))
            if beat.state == "silent":
                self._leave(number, f"Docker does not answer there: {beat.log}", None, now, wall)
                return None
            self._away.pop(number, None)
            known = self._beats.get(number)
            self._beats[number] = beat
            words = failure(beat)
            if words is not None:
                hint = f"sparkc logs {self._manifest.name} --rank {number}"
                self._fail(number, _Failure(failed_at(beat, known) - self._ahead[number], words, hint), now)
            if known is None or (known.log, known.state, known.health) != (beat.log, beat.state, beat.health):
                self._still_since[number] = now
            still = now - self._still_since[number]
            if still < STILL_SECONDS or beat.health != "starting" or number in self._noticed:
                return None
            self._noticed.add(number)
            return _stands_still(beat, still)

    def lost(self, number: int, error: SparkcError, now: float, wall: float) -> None:
        """Take in that a rank's node is out of reach: its state is unknown, not bad, until that lasts."""
        with self._lock:
            self._leave(number, error.message, error.hint, now, wall)

    def over(self, now: float) -> bool:
        """Return whether there is nothing to wait for any more."""
        with self._lock:
            if self._first_heard is not None:
                return now - self._first_heard >= _HEARING_SECONDS or len(self._failures) == len(self._manifest.ranks)
            # Once all served it is over, whatever is heard until all threads know.
            self._served = self._served or self._serving()
            return self._served or now - self._began >= self._seconds

    def error(self) -> SparkcError | None:
        """Return what to report once it is over; None when all ranks serve."""
        with self._lock:
            if self._failures:
                number, failed = min(self._failures.items(), key=lambda item: item[1].at)
                return self._report(number, failed.words, failed.hint)
            if self._served:
                return None
            waiting = [rank.rank for rank in self._manifest.ranks if not self._rank_serves(rank.rank)]
            hint = "if it only needs longer: --wait-timeout SECONDS, or `ready_timeout` in the recipe"
            return self._report(waiting[0], f"does not serve after {self._seconds:.0f} s", hint)

    def _serving(self) -> bool:
        return all(self._rank_serves(rank.rank) for rank in self._manifest.ranks)

    def _rank_serves(self, number: int) -> bool:
        beat = self._beats.get(number)
        return beat is not None and number not in self._away and serves(beat, self._settle)

    def _leave(self, number: int, why: str, hint: str | None, now: float, wall: float) -> None:
        since, at, _ = self._away.get(number, (now, wall, ""))
        self._away[number] = (since, at, why)
        if now - since >= LOST_SECONDS:
            self._fail(number, _Failure(at, f"has an unknown state for {now - since:.0f} s now: {why}", hint), now)

    def _fail(self, number: int, failed: _Failure, now: float) -> None:
        self._failures.setdefault(number, failed)
        if self._first_heard is None:
            self._first_heard = now

    def _report(self, number: int, words: str, hint: str | None) -> SparkcError:
        ranks = {rank.rank: rank for rank in self._manifest.ranks}
        states = [self._state(rank) for rank in ranks]
        return SparkcError(
            f"rank {number} ({ranks[number].role}) {words}",
            host=ranks[number].node,
            output="\n".join(
                f"rank {rank}, {ranks[rank].node}: {state}" for rank, state in zip(ranks, states, strict=True)
            ),
            hint=hint,
        )

    def _state(self, number: int) -> str:
        beat = self._beats.get(number)
        if number in self._away:
            words = f"unknown: {self._away[number][2]}"
        elif number in self._failures:
            words = self._failures[number].words
        elif beat is None:
            words = "nothing heard yet"
        else:
            words = state_words(beat)
        return f"{words}; last said: {beat.log}" if beat is not None and beat.log else words


def _stands_still(beat: Beat, seconds: float) -> str:
    line = f"its log has stood still for {seconds:.0f} s"
    if beat.page_cache < _CACHE_SHARE * beat.memory_total:
        return line
    return (
        f"{line}, and of {beat.memory_total / _GIB:.0f} GiB memory {beat.page_cache / _GIB:.0f} GiB are page cache, "
        f"{beat.memory_available / _GIB:.0f} GiB available; where loading hangs near the limit, this on the node gives "
        "the cache back: sync && echo 3 | sudo tee /proc/sys/vm/drop_caches"
    )
