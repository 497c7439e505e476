"""Child processes of one run, and many nodes at once: what an interrupt stops, and what it leaves alone.

Every child has a session of its own, so that Ctrl-C in a terminal reaches sparkc alone, which then decides what ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TypeVar

from sparkc.errors import SparkcError
from sparkc.record import dataclass

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Interrupted(Exception):  # noqa: N818 - not an error: the user asked for it
    """A command that was ended, or not started, since the run was interrupted."""


@dataclass(frozen=True)
class Done:
    """A finished child: its exit code (negative: the signal that ended it), and what it printed, undecoded."""

    code: int
    stdout: bytes
    stderr: bytes


class Processes:
    """The children of one run."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._interrupted = threading.Event()

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float | None = None) -> Done:
        """Run ``argv`` to its end, feeding it ``stdin``.

        Raises:
            Interrupted: the run was interrupted.
            TimeoutError: it took more than ``timeout`` seconds and was ended.
            OSError: it cannot be started.
        """
        with self.start(argv) as process:
            try:
                stdout, stderr = process.communicate(stdin, timeout)
            except subprocess.TimeoutExpired:
                end(process)
                raise TimeoutError from None
        self.check()
        return Done(process.returncode, stdout, stderr)

    @contextmanager
    def start(
        self, argv: Sequence[str], *, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start ``argv``, with pipes unless told otherwise; it is ended when the block or the run is left."""
        with self._lock:
            self.check()
            process = spawn(argv, stdin=stdin, stdout=stdout)
            self._running.add(process)
        try:
            yield process
        finally:
            end(process)
            with self._lock:
                self._running.discard(process)

    def check(self) -> None:
        """Raise :class:`Interrupted` if the run was interrupted."""
        if self._interrupted.is_set():
            raise Interrupted

    def pause(self, seconds: float) -> None:
        """Sleep; an interrupt ends it early and raises :class:`Interrupted`."""
        self._interrupted.wait(seconds)
        self.check()

    def fan_out(self, jobs: Mapping[K, Callable[[], T]]) -> dict[K, T | SparkcError]:
        """Run all jobs at once and return what each gave, in the order of ``jobs``; a SparkcError is such a result.

        Raises:
            KeyboardInterrupt: Ctrl-C (or SIGTERM, SIGHUP). By then every job has ended, and the next fan-out works.
            Exception: what else a job raised, such as BrokenPipeError where nobody reads any more; likewise.
        """
        if not jobs:
            return {}
        with ThreadPoolExecutor(len(jobs)) as pool:
            futures = {key: pool.submit(_outcome, job) for key, job in jobs.items()}
            try:
                for future in wait(futures.values(), return_when=FIRST_EXCEPTION).done:
                    future.result()
            except BaseException:
                self._interrupt()
                wait(futures.values())
                self._interrupted.clear()
                raise
        return {key: future.result() for key, future in futures.items()}

    def _interrupt(self) -> None:
        with self._lock:
            self._interrupted.set()
            for process in self._running:
                _signal(process, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP (a closed terminal) do within the block what Ctrl-C does: stop in an orderly way."""

    def interrupt(number: int, frame: object) -> None:  # noqa: ARG001 - signal's
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def spawn(
    argv: Sequence[str], *, stdin: int = subprocess.PIPE, stdout: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start ``argv``, with pipes unless told otherwise, in a session of its own, outside of any run's bookkeeping."""
    return subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a child that may still run, first politely, and close its pipes."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()


def failures(outcomes: Mapping[K, T | SparkcError]) -> dict[K, SparkcError]:
    """Return the failures among the outcomes of a fan-out."""
    return {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, SparkcError)}


def successes(outcomes: Mapping[K, T | SparkcError]) -> dict[K, T]:
    """Return the results among the outcomes of a fan-out."""
    return {key: outcome for key, outcome in outcomes.items() if not isinstance(outcome, SparkcError)}


def all_or_raise(outcomes: Mapping[K, T | SparkcError], what: str) -> dict[K, T]:
    """Return the results of a fan-out.

    Raises:
        SparkcError: at least one failed; a single failure as it is, several as one report that begins with ``what``.
    """
    failed = list(failures(outcomes).values())
    if len(failed) == 1:
        raise failed[0]
    if failed:
        hint = failed[0].hint
        raise SparkcError(what, output="\n".join(error.facts for error in failed), hint=hint)
    return successes(outcomes)


def _outcome(job: Callable[[], T]) -> T | SparkcError:
    try:
        return job()
    except SparkcError as error:
        return error


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
