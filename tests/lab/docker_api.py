"""The little of the Docker Engine's HTTP API that the lab itself needs, without 45 MB of client per call."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from .system import LabError


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def call(path: Path, method: str, url: str, body: Any = None, timeout: float = 60) -> Any:
    """Call the engine whose socket is at ``path`` and return the decoded answer.

    ``body`` is sent as JSON, bytes are sent as they are (a tar archive). LabError when the engine refuses, OSError when
    nothing answers.
    """
    is_archive = isinstance(body, bytes)
    payload: bytes | str | None = body if is_archive or body is None else json.dumps(body)
    kind = "application/x-tar" if is_archive else "application/json"
    connection = _UnixConnection(path, timeout)
    try:
        connection.request(method, url, payload, {"Content-Type": kind})
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    if response.status >= 400:
        raise LabError(f"docker: {method} {url}: {response.status} {text.strip()}")
    if not (response.headers.get("Content-Type") or "").startswith("application/json") or not text:
        return text
    # Long actions answer with one JSON document per line; the last tells how they ended.
    answer = json.loads(text.strip().splitlines()[-1])
    if isinstance(answer, dict) and "error" in answer:
        raise LabError(f"docker: {method} {url}: {answer['error']}")
    return answer
