"""One real completion of one token: ``/health`` of an engine may answer 200 with a dead worker until the next request.

The request goes through ssh, so that no port of the node need be open to this machine.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.group import Group, Member
from sparkc.runner.processes import Processes
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
        {member.number: partial(_probe, _Client(member, group.processes, secrets, seconds)) for member in asked}
    )


class _Client:
    """One rank's HTTP API, through its node."""

    def __init__(self, member: Member, processes: Processes, secrets: Mapping[str, str], seconds: float) -> None:
        self.member = member
        self.key = next((secrets[name] for name in API_KEYS if secrets.get(name)), None)
        self._processes = processes
        self._seconds = seconds

    def ask(self, host: str, port: int, path: str, body: dict[str, Any] | None = None) -> _Answer:
        """Return what the API answers to a GET, or with ``body`` to a POST.

        Raises:
            ConnectionRefusedError: nothing listens there.
            SparkcError: it does not answer.
        """
        headers = {"Connection": "close", "Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        with self.member.connection.tunnel(host, port) as (socket, process):
            socket.settimeout(self._seconds)
            http = HTTPConnection(host, port)
            http.sock = socket
            # The socket is all there is: http must not open another when it is closed.
            http.auto_open = 0
            try:
                http.request(
                    "GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers
                )
                response = http.getresponse()
                return _Answer(response.status, response.read())
            except TimeoutError:
                raise self.failed(f"does not answer {path} within {self._seconds:.0f} s") from None
            except (HTTPException, OSError) as error:
                self._processes.check()
                said = _last_words(process)
                _explain(said)
                raise self.failed(f"ends the connection without an answer to {path}", said or str(error)) from None

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
    said = ""
    for host in dict.fromkeys(host for host in hosts if host):
        try:
            answer = client.ask(host, port, _MODELS)
        except ConnectionRefusedError as error:
            said += f"{error}\n"
            continue
        _judge(client, answer, _MODELS)
        return host, answer
    raise client.failed(f"refuses connections to its API on port {port}", said)


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


def _last_words(process: subprocess.Popen[bytes]) -> str:
    """Return what the ssh of a tunnel that ended said."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(3)
        return process.stderr.read().decode(errors="replace") if process.stderr else ""
    return ""


def _explain(said: str) -> None:
    """Raise what ssh says about a tunnel that was not made, in the words of OpenSSH."""
    text = said.lower()
    if "connect failed" in text:
        raise ConnectionRefusedError(said.strip())
    if "prohibited" in text or "forwarding request failed" in text:
        raise _Unchecked(f"{_UNCHECKED}: sshd forwards no ports there (AllowTcpForwarding)")
