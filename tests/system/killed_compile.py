"""Compiles that the kernel kills: one real process for each step of writing, each ended by SIGKILL after that step.

Reads step numbers from standard input, and answers each with how the process ended. The processes are forked from
this small one, because a test's own process may have threads.
"""

import contextlib
import os
import signal
import sys
import tempfile

import sparkc.bundle.write as writing
from sparkc.bundle.file_ops import FileOps
from sparkc.cli.main import run

STEPS = {"make_directory", "write_new", "replace", "set_mode", "remove", "remove_directory", "sync_directory"}


class Killed(FileOps):
    """Ends this process after a number of changes; ``torn`` ends it inside the next one, half-written."""

    left = 0
    torn = False

    def __getattribute__(self, name):
        operation = super().__getattribute__(name)
        if name not in STEPS:
            return operation

        def stepped(*arguments):
            if Killed.left == 0:
                if Killed.torn and name == "write_new":
                    path, data, _ = arguments
                    path.write_bytes(data[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            Killed.left -= 1
            return operation(*arguments)

        return stepped


def main():
    # Once for nothing, so that the processes forked from here find everything imported.
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
        run([*sys.argv[1:], "--out", folder])
    for line in sys.stdin:
        step = int(line)
        child = os.fork()
        if child == 0:
            writing.FileOps = Killed
            Killed.left, Killed.torn = abs(step), step < 0
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os._exit(run(sys.argv[1:]))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
