"""One real completion of one token: ``/health`` of an engine may answer 200 with a dead worker until the next request.

The request is made on the node, so that no port of it need be open to this machine.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import partial
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.parse import urlsplit

from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.group import Group, Member
from sparkc.runner.node_script import node_script
from sparkc.runner.ssh import last_lines

# The first completion may compile kernels.
ANSWER_SECONDS = 120.0
# Where engines look for the key that they ask of clients.
API_KEYS = ("VLLM_API_KEY", "LLAMA_API_KEY")
_MODELS = "/v1/models"
_UNCHECKED = "its completions cannot be checked"


@dataclass(frozen=True)
class _Answer:
    status: int
    body: bytes


class _Received:
    """Bytes that came from a socket, for http.client."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BytesIO:  # noqa: ARG002 - the socket's signature
        return io.BytesIO(self._data)


class _Unchecked(Exception):  # noqa: N818 - no fault of the engine
    """It cannot be found out whether the engine completes; the text says why."""


def deep_probe(
    group: Group, secrets: Mapping[str, str], seconds: float = ANSWER_SECONDS
) -> dict[int, str | SparkcError | None]:
    """Let every rank that serves completions complete one token.

    Returns by rank number: None for a rank that did, a text for one where that cannot be checked (such as an API key
    that is not among ``secrets``), the error for one that answers with a failure or not within ``seconds``.
    """
    asked = [member for member in group.members if member.rank.deep_probe is not None]
    return group.processes.fan_out(
        {member.number: partial(_probe, _Client(member, secrets, seconds)) for member in asked}
    )


class _Client:
    """One rank's HTTP API, as its node reaches it."""

    def __init__(self, member: Member, secrets: Mapping[str, str], seconds: float) -> None:
        self.member = member
        self.key = next((secrets[name] for name in API_KEYS if secrets.get(name)), None)
        self._seconds = seconds

    def ask(self, host: str, port: int, path: str, body: dict[str, Any] | None = None) -> _Answer:
        """Return what the API answers to a GET, or with ``body`` to a POST.

        Raises:
            ConnectionRefusedError: nothing listens there.
            SparkcError: it does not answer.
        """
        request = self._request(host, port, path, "" if body is None else json.dumps(body))
        limit = f"{self._seconds:g}"
        script = node_script("http", HOST=host, PORT=str(port), REQUEST=request, LIMIT=limit)
        reply = self.member.connection.run(script, timeout=self._seconds + 30)
        if reply.code == 10:
            raise ConnectionRefusedError
        if reply.code == 124:
            raise self.failed(f"does not answer {path} within {limit} s")
        return self._parsed(path, reply.sections["answer"])

    def _request(self, host: str, port: int, path: str, content: str) -> str:
        lines = [
            f"{'POST' if content else 'GET'} {path} HTTP/1.1",
            f"Host: {f'[{host}]' if ':' in host else host}:{port}",
            "Connection: close",
            "Content-Type: application/json",
            # json escapes what is not ASCII: characters are bytes.
            f"Content-Length: {len(content)}",
        ]
        if self.key is not None:
            lines.append(f"Authorization: Bearer {self.key}")
        return "\r\n".join([*lines, "", content])

    def _parsed(self, path: str, answer: str) -> _Answer:
        response = HTTPResponse(cast("Any", _Received(answer.encode())))
        try:
            response.begin()
            return _Answer(response.status, response.read())
        except HTTPException:
            raise self.failed(f"ends the connection without a whole answer to {path}", answer) from None

    def failed(self, what: str, said: str = "") -> SparkcError:
        """Return the error about this rank."""
        member = self.member
        return SparkcError(
            f"rank {member.number} ({member.rank.role}) {what}",
            host=member.node,
            output=last_lines(said),
            hint=f"`sparkc logs {member.manifest.name}` shows which rank stopped working",
        )


def _probe(client: _Client) -> str | None:
    rank, manifest = client.member.rank, client.member.manifest
    port = next((port["number"] for port in rank.ports if port["name"] == "api"), manifest.api_port)
    if port is None or rank.deep_probe is None:
        return None
    try:
        host, models = _first_answer(client, port)
        body = {"model": _model(models.body), "prompt": "1", "max_tokens": 1}
        _judge(client, client.ask(host, port, rank.deep_probe, body), rank.deep_probe)
    except _Unchecked as reason:
        return str(reason)
    return None


def _first_answer(client: _Client, port: int) -> tuple[str, _Answer]:
    """Return the address that the API listens on, and its list of models."""
    hosts = ["127.0.0.1", urlsplit(client.member.manifest.client_url or "").hostname, client.member.rank.address]
    for host in dict.fromkeys(host for host in hosts if host):
        try:
            answer = client.ask(host, port, _MODELS)
        except ConnectionRefusedError:
            continue
        _judge(client, answer, _MODELS)
        return host, answer
    raise client.failed(f"has nothing that listens on port {port}")


def _judge(client: _Client, answer: _Answer, path: str) -> None:
    if answer.status < 400:
        return
    said = answer.body.decode(errors="replace")[:2000]
    if answer.status >= 500:
        raise client.failed(f"answers {path} with {answer.status}", said)
    if answer.status in (401, 403):
        why = (
            f"it asks for an API key: give {API_KEYS[0]} as a secret"
            if client.key is None
            else "it refuses the API key"
        )
        raise _Unchecked(f"{_UNCHECKED}: {why}")
    # An embedding model, say, has no completions; such a server is well.
    raise _Unchecked(f"{_UNCHECKED}: {path} gives {answer.status}: {printable(said[:200])}")


def _model(models: bytes) -> str:
    try:
        name = json.loads(models)["data"][0]["id"]
    except (ValueError, LookupError, TypeError):
        name = None
    if not isinstance(name, str):
        raise _Unchecked(f"{_UNCHECKED}: {_MODELS} names no model")
    return name
