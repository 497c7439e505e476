"""Child processes of one run, and many nodes at once: what an interrupt stops, and what it leaves alone.

Every child has a session of its own, so that Ctrl-C in a terminal reaches sparkc alone, which then decides what ends.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Generic, TypeVar

from sparkc.errors import SparkcError
from sparkc.record import dataclass

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_TICK_SECONDS = 0.2
_CHUNK = 1 << 16


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
        end_at = None if timeout is None else time.monotonic() + timeout
        with self.start(argv) as process:
            stdout, stderr = self._exchange(process, stdin, end_at)
        self.check()
        return Done(process.returncode, stdout, stderr)

    def _exchange(self, process: subprocess.Popen[bytes], data: bytes, end_at: float | None) -> tuple[bytes, bytes]:
        """Feed a child and read what it prints until it has ended.

        ``Popen.communicate`` waits for the pipes of a child that was ended, too. A session of an ssh master leaves its
        standard error open in the master until the node's command ends, which an interrupt must not wait for.
        """
        assert process.stdin is not None  # noqa: S101 - start() makes pipes
        read: dict[int, list[bytes]] = {}
        left = memoryview(data)
        with DefaultSelector() as ready:
            ready.register(process.stdin, EVENT_WRITE)
            for stream in (process.stdout, process.stderr):
                assert stream is not None  # noqa: S101
                ready.register(stream, EVENT_READ)
                read[stream.fileno()] = []
            while ready.get_map():
                for key, _ in ready.select(_TICK_SECONDS):
                    if key.fileobj is process.stdin:
                        left = _write(key.fd, left)
                        if not left:
                            ready.unregister(key.fileobj)
                            process.stdin.close()
                    elif chunk := os.read(key.fd, _CHUNK):
                        read[key.fd].append(chunk)
                    else:
                        ready.unregister(key.fileobj)
                self._check_time(end_at)
        while process.poll() is None:
            self._check_time(end_at)
            time.sleep(0.01)
        stdout, stderr = read.values()
        return b"".join(stdout), b"".join(stderr)

    def _check_time(self, end_at: float | None) -> None:
        self.check()
        if end_at is not None and time.monotonic() > end_at:
            raise TimeoutError

    @contextmanager
    def start(self, argv: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Start ``argv`` with pipes; it is ended when the block is left or the run is interrupted."""
        with self._lock:
            self.check()
            process = spawn(argv)
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
        crowd = _Crowd(jobs)
        try:
            crowd.start()
            crowd.wait()
        except BaseException:
            self._interrupt()
            raise
        finally:
            late = self._drain(crowd)
            self._interrupted.clear()
            if late is not None:
                raise late
        return crowd.results()

    def _drain(self, crowd: _Crowd[K, T]) -> KeyboardInterrupt | None:
        """Wait until no job is at work, whatever comes; return the Ctrl-C that came meanwhile, which ended them."""
        late = None
        while True:
            try:
                crowd.close()
            except KeyboardInterrupt as interrupt:
                late = interrupt
                self._interrupt()
            else:
                return late

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


class _Crowd(Generic[K, T]):
    """Jobs at work, each in a thread. Unlike an executor it loses none when Ctrl-C comes while a thread starts."""

    def __init__(self, jobs: Mapping[K, Callable[[], T]]) -> None:
        self._jobs = jobs
        self._changed = threading.Condition()
        self._results: dict[K, T | SparkcError] = {}
        self._fault: BaseException | None = None
        self._at_work = 0
        self._closed = False

    def start(self) -> None:
        for key in self._jobs:
            threading.Thread(target=self._do, args=(key,), daemon=True).start()

    def wait(self) -> None:
        """Wait until all jobs are done, and raise what one of them raised, as soon as it does."""
        with self._changed:
            self._changed.wait_for(lambda: self._fault is not None or len(self._results) == len(self._jobs))
            if self._fault is not None:
                raise self._fault

    def close(self) -> None:
        """Let no further job begin, and wait until those at work have ended."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._at_work == 0)

    def results(self) -> dict[K, T | SparkcError]:
        """Return what the jobs gave, in their order."""
        return {key: self._results[key] for key in self._jobs}

    def _do(self, key: K) -> None:
        with self._changed:
            if self._closed:
                return
            self._at_work += 1
        try:
            self._results[key] = self._jobs[key]()
        except SparkcError as error:
            self._results[key] = error
        except BaseException as fault:  # noqa: BLE001 - raised again where the jobs are waited for
            self._fault = self._fault or fault
        with self._changed:
            self._at_work -= 1
            self._changed.notify_all()


def _write(pipe: int, data: memoryview) -> memoryview:
    """Write what a pipe takes without waiting, and return the rest; nothing is left for a reader that is gone."""
    try:
        return data[os.write(pipe, data[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return data[:0]


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
