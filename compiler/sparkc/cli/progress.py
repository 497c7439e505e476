"""What a run of the runner shows: a live table on a terminal, plain lines otherwise, nothing for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import click

from sparkc.diagnostics.escape import printable, printable_lines
from sparkc.runner.progress import Progress, Silent

if TYPE_CHECKING:
    from rich.console import RenderableType


@contextmanager
def make_progress(*, as_json: bool = False) -> Iterator[Progress]:
    """Give the display that fits where standard error goes; with ``as_json`` none."""
    if as_json:
        yield Silent()
    elif not sys.stderr.isatty():
        yield PlainProgress()
    else:
        from rich.console import Console  # 45 ms that only a live display needs
        from rich.live import Live

        live = LiveProgress()
        # Standard output stays for results; rich redirects neither stream, since sparkc prints through `say`.
        console = Console(stderr=True, highlight=False)
        with Live(
            console=console,
            get_renderable=live.render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as display:
            live.print = lambda line: display.console.print(line, markup=False, soft_wrap=True)
            yield live


class PlainProgress:
    """A line whenever something changes, for logs and pipes."""

    def __init__(self) -> None:
        self._phase = ""
        self._states: dict[str, str] = {}
        self._lock = Lock()

    def phase(self, title: str) -> None:
        """Print the title."""
        with self._lock:
            self._states.clear()
        _print(f"== {title}")

    def node(self, node: str, state: str, detail: str = "") -> None:  # noqa: ARG002 - the protocol's
        """Print the state if it is another than before."""
        with self._lock:
            known = self._states.get(node)
            self._states[node] = state
        if known != state:
            _print(f"{printable(node)}: {state}")

    def say(self, line: str) -> None:
        """Print the line."""
        _print(line)


class LiveProgress:
    """A table of the nodes under the phase's title, with the seconds since each changed."""

    def __init__(self) -> None:
        self.print = _print
        self._title = ""
        self._began = time.monotonic()
        self._rows: dict[str, tuple[str, str, float]] = {}
        self._lock = Lock()

    def phase(self, title: str) -> None:
        """Begin the table anew; what was there before stays as one line."""
        now = time.monotonic()
        with self._lock:
            done, took = self._title, now - self._began
            self._title, self._began = title, now
            self._rows.clear()
        if done:
            self.print(f"✓ {done} ({took:.0f} s)")

    def node(self, node: str, state: str, detail: str = "") -> None:
        """Show the state in the node's row."""
        with self._lock:
            known = self._rows.get(node)
            since = known[2] if known is not None and known[0] == state else time.monotonic()
            self._rows[node] = (state, detail, since)

    def say(self, line: str) -> None:
        """Print the line above the table."""
        self.print("\n".join(printable_lines(line)))

    def render(self) -> RenderableType:
        """Return the table as it is now."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        now = time.monotonic()
        with self._lock:
            rows = dict(self._rows)
            title = f"{self._title} ({now - self._began:.0f} s)" if self._title else ""
        table.add_row(Text(title, style="bold"))
        for node, (state, detail, since) in rows.items():
            cells = (printable(node), state, f"{now - since:.0f} s", printable_lines(detail)[0])
            table.add_row(*(Text(cell, overflow="ellipsis", no_wrap=True) for cell in cells))
        return table


def _print(line: str) -> None:
    for text in printable_lines(line):
        click.echo(text, err=True)
