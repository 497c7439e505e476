"""The stub engine from start to end: read the flags, meet the other ranks, serve or wait."""

# ruff: noqa: T201 - an engine's log is what it prints

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from group import Head, Worker
from server import serve
from settings import Settings

from flags import Flags, parse

# What the engine was started with, for tests that compare it to the recipe.
RECORD = Path("/run/stub/invocation.json")


def main(arguments: list[str]) -> NoReturn:
    flags = parse(arguments)
    settings = Settings.read(flags.rank)
    _record(arguments, flags, settings)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if settings.on("STUB_IGNORE_SIGTERM") else _terminated)
    log(f"stub vLLM, model {flags.model}, rank {flags.rank} of {flags.nnodes}")
    if settings.on("STUB_CRASH_AT_START"):
        fail("RuntimeError: STUB_CRASH_AT_START is set")
    if settings.on("STUB_BIND_CHECK"):
        _check_own_address(os.environ.get("VLLM_HOST_IP", ""))
    if flags.rank == 0:
        _run_head(flags, settings)
    _run_worker(flags, settings)


def _run_head(flags: Flags, settings: Settings) -> NoReturn:
    head = Head(flags, settings, log)
    head.gather()
    _load(settings)
    server = serve(flags, settings, head, log)
    log("Application startup complete.")
    after = settings.seconds("STUB_CRASH_AFTER")
    # A head that lost a worker says so in its health for a moment, and ends.
    if head.broken.wait(timeout=after):
        time.sleep(settings.seconds("STUB_BROKEN_FOR") or 2)
        server.shutdown()
        fail("EngineDeadError: a worker died")
    fail("RuntimeError: STUB_CRASH_AFTER is over")


def _run_worker(flags: Flags, settings: Settings) -> NoReturn:
    worker = Worker(flags, settings, log)
    worker.join()
    log("joined the group")
    after = settings.seconds("STUB_CRASH_AFTER")
    if after is not None:
        threading.Timer(after, lambda: fail("RuntimeError: STUB_CRASH_AFTER is over")).start()
    worker.follow()
    time.sleep(settings.seconds("STUB_OUTLIVE") or 0)
    fail("RuntimeError: the head went away")


def _load(settings: Settings) -> None:
    """Take the time that loading takes."""
    while settings.on("STUB_HANG"):
        time.sleep(60)
    time.sleep(settings.seconds("STUB_READY_AFTER") or 0)


def _record(arguments: list[str], flags: Flags, settings: Settings) -> None:
    text = json.dumps({"argv": arguments, "environ": dict(os.environ), "cwd": str(Path.cwd())}, indent=1)
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(text, encoding="utf-8")
    folder = settings.text("STUB_REPORT")
    if folder is not None:
        (Path(folder) / f"rank-{flags.rank}.json").write_text(text, encoding="utf-8")


def _check_own_address(address: str) -> None:
    try:
        socket.create_server((address, 0)).close()
    except OSError as error:
        fail(f"zmq.error.ZMQError: Cannot assign requested address (addr='tcp://{address}:0'): {error}")


def _terminated(number: int, frame: object) -> NoReturn:
    log("terminated")
    os._exit(0)


def log(text: str) -> None:
    print(f"{time.strftime('%m-%d %H:%M:%S')} {text}", flush=True)


def fail(text: str) -> NoReturn:
    """End the whole process at once, from any thread."""
    print(f"{time.strftime('%m-%d %H:%M:%S')} ERROR {text}", file=sys.stderr, flush=True)
    os._exit(1)
