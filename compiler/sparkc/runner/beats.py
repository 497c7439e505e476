"""How a rank's container is at one moment: a line of ``scripts/watch.sh``, and what it means for the group."""

from __future__ import annotations

from sparkc.record import dataclass
from sparkc.runner.log_lines import log_text
from sparkc.runner.parse_docker import timestamp

_KIB = 1024
_FIELDS = 12


@dataclass(frozen=True)
class Beat:
    """One moment of a rank. ``state`` is Docker's, or ``gone`` without a container, ``silent`` without Docker.

    ``health`` is None without a health check. Times are in seconds since 1970 on the node's clock, ``clock`` is the
    moment itself. Memory is in bytes. ``log`` is the log's last line, as it can be shown.
    """

    state: str
    health: str | None
    exit_code: int
    restarts: int
    out_of_memory: bool
    started: float | None
    finished: float | None
    clock: float
    memory_total: int
    memory_available: int
    page_cache: int
    log: str


def parse_beat(line: str) -> Beat | None:
    """Return what a line of the watch says; None if it is none, such as one cut off."""
    fields = line.split("\t", _FIELDS - 1)
    if len(fields) != _FIELDS:
        return None
    state, health, code, restarts, killed, started, finished, clock, *sizes, log = fields
    try:
        total, available, cache = (int(size) * _KIB for size in sizes)
        return Beat(
            state=state,
            health=None if health == "none" else health,
            exit_code=int(code),
            restarts=int(restarts),
            out_of_memory=killed == "true",
            started=timestamp(started),
            finished=timestamp(finished),
            clock=float(clock),
            memory_total=total,
            memory_available=available,
            page_cache=cache,
            log=log_text(log),
        )
    except ValueError:
        return None


def failure(beat: Beat) -> str | None:
    """Return why a rank will not serve any more, as the end of a sentence about it; None while it may."""
    if beat.state in ("exited", "dead", "removing"):
        after = "" if beat.started is None or beat.finished is None else f" after {beat.finished - beat.started:.0f} s"
        if beat.out_of_memory:
            return f"was killed{after} since its memory limit was reached (exit code {beat.exit_code})"
        return f"exited with code {beat.exit_code}{after}{_signal(beat.exit_code)}"
    if beat.state == "gone":
        return "has no container any more: somebody removed it"
    if beat.state == "restarting" or beat.restarts:
        return f"is being restarted by Docker (exit code {beat.exit_code}): a rank on its own cannot join again"
    if beat.health == "unhealthy":
        return "is unhealthy: it runs, but its health check fails"
    return None


def failed_at(beat: Beat, before: Beat | None) -> float:
    """Return when a failed rank failed, on its node's clock; ``before`` is its beat before that, None for the first.

    When a container was removed is not recorded: as soon as it could be, since others fail because of it.
    """
    if beat.state == "gone":
        return 0.0 if before is None else before.clock
    return beat.finished if beat.state in ("exited", "dead") and beat.finished is not None else beat.clock


def serves(beat: Beat, settle: float) -> bool:
    """Return whether a rank does its work: healthy or, without a health check, running for ``settle`` seconds."""
    if beat.state != "running":
        return False
    if beat.health is not None:
        return beat.health == "healthy"
    return beat.started is not None and beat.clock - beat.started >= settle


def state_words(beat: Beat) -> str:
    """Return a rank's state in a few words."""
    if beat.state == "silent":
        return "unknown: Docker does not answer"
    if beat.state == "running" and beat.health is not None:
        return {"starting": "loading"}.get(beat.health, beat.health)
    return beat.state


def _signal(code: int) -> str:
    """Return what an exit code above 128 usually means."""
    return {137: " (killed; by the kernel or a watchdog when memory is short)", 139: " (segmentation fault)"}.get(
        code, ""
    )
