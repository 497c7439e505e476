"""How the ranks meet, at the master's address: one TCP connection per worker, one JSON document per line."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from settings import Settings

from flags import Flags

Log = Callable[[str], None]


class Head:
    """Rank 0: waits for all workers, and asks each of them for its part of every completion."""

    def __init__(self, flags: Flags, settings: Settings, log: Log) -> None:
        self._flags = flags
        self._timeout = settings.seconds("STUB_STEP_TIMEOUT") or 5
        self._log = log
        self._workers: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.broken = threading.Event()

    def gather(self) -> None:
        """Wait until every other rank has connected, as long as that takes."""
        if self._flags.nnodes == 1:
            return
        listener = socket.create_server(("", self._flags.master_port))
        self._log(f"waiting for {self._flags.nnodes - 1} ranks at port {self._flags.master_port}")
        while len(self._workers) < self._flags.nnodes - 1:
            connection, peer = listener.accept()
            connection.settimeout(self._timeout)
            stream = connection.makefile("rw", encoding="utf-8")
            try:
                hello = json.loads(stream.readline())
            except ValueError:  # a port scan, or a rank that ended at once
                continue
            # A rank that joins again replaces its dead self; a wrong one is never missed by the real engine either.
            self._workers[hello["rank"]] = stream
            self._log(f"rank {hello['rank']} has joined from {peer[0]}")
        for stream in self._workers.values():
            _send(stream, {"start": True})

    def step(self) -> bool:
        """Do one completion on all ranks; False, for good, once a worker does not answer."""
        with self._lock:
            if self.broken.is_set():
                return False
            try:
                for stream in self._workers.values():
                    _send(stream, {"step": True})
                if all(stream.readline() for stream in self._workers.values()):
                    return True
            except OSError:
                pass
            self.broken.set()
            return False


class Worker:
    """Rank 1 and above: joins the head, then does its part until the head goes."""

    def __init__(self, flags: Flags, settings: Settings, log: Log) -> None:
        self._flags = flags
        self._deadline = settings.seconds("STUB_JOIN_TIMEOUT") or 300
        self._log = log
        self._stream: Any = None

    def join(self) -> None:
        """Connect to the head, again and again until the deadline, and wait until all ranks are there."""
        address = (self._flags.master_addr, self._flags.master_port)
        deadline = time.monotonic() + self._deadline
        while True:
            try:
                connection = socket.create_connection(address, timeout=5)
                connection.settimeout(None)
                self._stream = connection.makefile("rw", encoding="utf-8")
                _send(self._stream, {"rank": self._flags.rank})
                if self._stream.readline():
                    return
            except OSError as error:
                self._log(f"no head at {address[0]}:{address[1]} yet: {error}")
            if time.monotonic() > deadline:
                self._log("ERROR torch.distributed.DistNetworkError: the client socket has timed out")
                os._exit(1)
            time.sleep(0.3)

    def follow(self) -> None:
        """Answer the head's steps; returns when it has gone."""
        try:
            while self._stream.readline():
                _send(self._stream, {"done": self._flags.rank})
        except OSError:
            pass


def _send(stream: Any, document: dict[str, Any]) -> None:
    stream.write(json.dumps(document) + "\n")
    stream.flush()
