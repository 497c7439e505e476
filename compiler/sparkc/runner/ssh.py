"""OpenSSH to the nodes: one master connection per node and run, through which everything else goes.

The user's own configuration, keys and known hosts apply: aliases, ports, jump hosts. What would make a run wait for a
person (a password, a host key to confirm) fails instead, with the command to type.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

from sparkc.diagnostics.escape import printable_lines
from sparkc.errors import SparkcError
from sparkc.runner.node_script import SHELL, Reply, Script, parse_reply
from sparkc.runner.processes import Done, Processes, spawn
from sparkc.runner.ssh_faults import connection_error
from sparkc.runner.target import Target

# A node that is cut off is noticed within 15 s; one that is slow to accept gets as long.
CONNECT_SECONDS = 15
_OPTIONS = (
    "BatchMode=yes",
    f"ConnectTimeout={CONNECT_SECONDS}",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    # What the user's config may ask for when logging in by hand.
    "RequestTTY=no",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "EscapeChar=none",
)
# A master that no session uses ends by itself: also when sparkc was killed and cannot end it.
_IDLE_SECONDS = 60
_ANSWER_SECONDS = 60.0
# A Unix socket's path has about a hundred bytes; a temporary folder of macOS alone takes half of them.
_SOCKETS = "/tmp"  # noqa: S108 - each run makes a folder of its own there, mode 0700
_PREFIX = "sparkc-"


class Ssh:
    """The connections of one run, in a private folder for their sockets; use it as a context manager."""

    def __init__(self, processes: Processes) -> None:
        self.processes = processes
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_SOCKETS))
        self._open: dict[Target, Connection] = {}
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._open.values():
            connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def connect(self, target: Target) -> Connection:
        """Return the connection to ``target``, opened when it is first asked for.

        Raises:
            SparkcError: the node cannot be reached or does not let us in.
            Interrupted: the run was interrupted.
        """
        connection = self._open.get(target)
        if connection is None:
            connection = Connection(target, self._folder / str(next(self._numbers)), self.processes)
            self._open[target] = connection
            try:
                connection.open()
            except BaseException:
                del self._open[target]
                raise
        return connection

    def connect_all(self, targets: Iterable[Target]) -> dict[Target, Connection | SparkcError]:
        """Return the connections to all targets, opened at once; a failure stands in its place."""
        wanted = list(dict.fromkeys(targets))
        return self.processes.fan_out({target: lambda target=target: self.connect(target) for target in wanted})  # type: ignore[misc]


class Connection:
    """One node, through its master connection."""

    def __init__(self, target: Target, control_path: Path, processes: Processes) -> None:
        self.target = target
        self._path = control_path
        self.processes = processes

    def open(self) -> None:
        """Open the master; it goes to the background by itself once the node let us in."""
        done = self._local(
            [*self._ssh("-M", "-N", "-o", f"ControlPersist={_IDLE_SECONDS}"), self.target.host],
            timeout=3 * CONNECT_SECONDS,
        )
        if done.code != 0:
            raise connection_error(self.target, _text(done.stderr))

    def run(self, script: Script, *, timeout: float = _ANSWER_SECONDS) -> Reply:
        """Run a script on the node and return its answer; ``timeout`` is in seconds.

        Raises:
            SparkcError: the connection was lost, or there was no answer in time.
            Interrupted: the run was interrupted.
        """
        done = self._local([*self._ssh(), self.target.host, SHELL], script.text.encode(), timeout, script.name)
        output = _text(done.stdout)
        reply = parse_reply(script, output)
        if reply is None:
            raise connection_error(self.target, _text(done.stderr) or output, script.name)
        return reply

    def stream(self, script: Script, on_line: Callable[[str], bool]) -> None:
        """Run a script and hand over each line it prints, until it ends or ``on_line`` returns False.

        Lines of sections are handed over like others; the mark lines and the login shell's noise are not.

        Raises:
            SparkcError: the connection was lost before the script's end.
            Interrupted: the run was interrupted.
        """
        began = False
        with self.processes.start([*self._ssh(), self.target.host, SHELL]) as process:
            assert process.stdin is not None  # noqa: S101 - start() makes pipes
            assert process.stdout is not None  # noqa: S101
            _feed(process, script.text)
            process.stdin.close()
            for raw in process.stdout:
                line = _text(raw).removesuffix("\n")
                if line.startswith(f"{script.mark} "):
                    if line.startswith(f"{script.mark} end "):
                        return
                    began = True
                elif began and not on_line(line):
                    return
            self.processes.check()
            raise connection_error(self.target, _text(process.stderr.read() if process.stderr else b""), script.name)

    def keep(self, script: Script) -> subprocess.Popen[bytes]:
        """Start a script that goes on while we hold its standard input open; the caller ends it.

        It is no child of the run: an interrupt leaves it alone. When sparkc dies, its input ends, which it notices.
        """
        process = spawn([*self._ssh(), self.target.host, SHELL])
        _feed(process, script.text)
        return process

    def foreground(self, command: str, *, terminal: bool) -> int:
        """Run a command line with this process's own standard streams and return its exit code.

        With ``terminal`` it gets one, as ``ssh -t`` does; without, bytes pass unchanged.
        """
        # Quiet: ssh would add a line of its own when a terminal's session ends.
        tty = ("-o", "RequestTTY=force", "-o", "LogLevel=QUIET") if terminal else ()
        return subprocess.run([*self._ssh(*tty), self.target.host, command], check=False).returncode

    def rsync_shell(self) -> str:
        """Return rsync's ``--rsh``: this connection."""
        return shlex.join(self._ssh())

    @property
    def rsync_host(self) -> str:
        """The host as rsync takes it: an IPv6 address in brackets."""
        return f"[{self.target.host}]" if ":" in self.target.host else self.target.host

    def close(self) -> None:
        """End the master; errors do not matter any more."""
        if self._path.exists():
            with suppress(OSError, TimeoutError):
                Processes().run([*self._ssh("-O", "exit"), self.target.host], timeout=5)

    def _ssh(self, *more: str) -> list[str]:
        port = [] if self.target.port is None else ["-p", str(self.target.port)]
        options = [word for option in _OPTIONS for word in ("-o", option)]
        # The last word, the host, cannot be an option: a target's host begins with a letter, a digit or "_".
        # ssh takes the first value it is given of an option.
        return ["ssh", "-S", str(self._path), *more, *options, "-l", self.target.user, *port]

    def _local(self, argv: list[str], stdin: bytes = b"", timeout: float | None = None, what: str = "") -> Done:
        try:
            return self.processes.run(argv, stdin=stdin, timeout=timeout)
        except TimeoutError:
            raise connection_error(self.target, f"no answer within {timeout:.0f} s", what) from None
        except FileNotFoundError:
            raise SparkcError("there is no ssh on this machine", hint="install OpenSSH's client") from None


def _sweep() -> None:
    """Remove the socket folders of runs that were killed; their masters end by themselves."""
    for folder in Path(_SOCKETS).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not _lives(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _feed(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None  # noqa: S101 - spawn() makes pipes
    try:
        process.stdin.write(text.encode())
        process.stdin.flush()
    except BrokenPipeError:
        pass  # ssh has ended; why, it says on standard error, which is read next


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def last_lines(text: str, count: int = 12) -> str:
    """Return the end of what a command printed, safe to show."""
    return "\n".join(printable_lines(text.strip())[-count:])
