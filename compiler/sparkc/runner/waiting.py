"""Waiting until a group serves, by watching every rank: rank 0 notices a dead worker only after many minutes.

One remote command per rank for the whole wait. What the ranks tell is judged in :mod:`sparkc.runner.verdict`.
"""

from __future__ import annotations

import time
from functools import partial

from sparkc.errors import SparkcError
from sparkc.runner.beats import parse_beat, state_words
from sparkc.runner.group import Group, Member
from sparkc.runner.node_script import node_script
from sparkc.runner.processes import all_or_raise
from sparkc.runner.progress import Progress
from sparkc.runner.verdict import Board

_INTERVAL = "2"
_RETRY_SECONDS = 2.0


def wait_until_serving(group: Group, seconds: float, progress: Progress) -> None:
    """Return as soon as all ranks serve: those with a health check are healthy, the others have run for a while.

    Raises:
        SparkcError: a rank exited, was restarted, is unhealthy or was out of reach for too long (the error is about
            the one that failed first), or not all serve after ``seconds``. What each rank last said is in it.
        KeyboardInterrupt: Ctrl-C.
    """
    all_or_raise(group.unreached, "these nodes cannot be reached")
    board = Board(group.manifest, seconds, time.monotonic())
    group.processes.fan_out(
        {member.number: partial(_watch, group, member, board, progress) for member in group.members}
    )
    error = board.error()
    if error is not None:
        raise error


def _watch(group: Group, member: Member, board: Board, progress: Progress) -> None:
    """Feed what a rank tells to the board until the whole group is judged."""
    connection = member.connection

    def on_line(line: str) -> bool:
        beat = parse_beat(line)
        if beat is not None:
            notice = board.beat(member.number, beat, time.monotonic(), time.time())
            progress.node(member.node, state_words(beat), beat.log)
            if notice is not None:
                progress.say(f"{member.node}: {notice}")
        return not board.over(time.monotonic())

    while not board.over(time.monotonic()):
        try:
            connection.stream(node_script("watch", BUNDLE=member.manifest.name, INTERVAL=_INTERVAL), on_line)
        except SparkcError as error:
            board.lost(member.number, error, time.monotonic(), time.time())
            progress.node(member.node, "unknown: the connection is lost, trying again", error.message)
            group.processes.pause(_RETRY_SECONDS)
