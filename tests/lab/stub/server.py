"""The HTTP API of rank 0: health, models and completions, as far as a client that checks a deployment goes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from group import Head
from settings import Settings

from flags import Flags


def serve(flags: Flags, settings: Settings, head: Head, log: Callable[[str], None]) -> ThreadingHTTPServer:
    """Start serving in the background and return the server; OSError when the port is taken."""

    class Handler(_Handler):
        pass

    Handler.flags, Handler.head, Handler.log_line = flags, head, staticmethod(log)
    Handler.slow = settings.seconds("STUB_SLOW") or 0
    server = ThreadingHTTPServer((flags.host, flags.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class _Handler(BaseHTTPRequestHandler):
    flags: Flags
    head: Head
    log_line: Callable[[str], None]
    slow: float
    completions = 0

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(503 if self.head.broken.is_set() else 200, None)
        elif self.path == "/metrics":
            self._answer(200, f"vllm:request_success_total {_Handler.completions}\n")
        elif self.path == "/v1/models" and self._allowed():
            models = [{"id": name, "object": "model", "root": self.flags.model} for name in self.flags.served]
            self._answer(200, {"object": "list", "data": models})
        elif self.path != "/v1/models":
            self._answer(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path not in ("/v1/completions", "/v1/chat/completions"):
            self._answer(404, {"detail": "Not Found"})
        elif self._allowed():
            self._complete(body)

    def _complete(self, body: bytes) -> None:
        try:
            model = json.loads(body)["model"]
        except (ValueError, KeyError, TypeError):
            self._error(400, "the body is not a JSON object with a model")
            return
        if model not in self.flags.served:
            self._error(404, f"The model `{model}` does not exist.")
            return
        time.sleep(self.slow)
        if not self.head.step():
            self._error(500, "EngineCore encountered an issue. See stack trace (above) for the root cause.")
            return
        _Handler.completions += 1
        text = f" a fixed text from {model}"
        choice: dict[str, Any] = {"index": 0, "finish_reason": "length"}
        choice |= {"message": {"role": "assistant", "content": text}} if "chat" in self.path else {"text": text}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._answer(200, {"id": f"cmpl-{_Handler.completions}", "model": model, "choices": [choice], "usage": usage})

    def _allowed(self) -> bool:
        key = self.flags.api_key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._answer(401, {"error": "Unauthorized"})
        return False

    def _error(self, code: int, text: str) -> None:
        self._answer(code, {"error": {"message": text, "code": code}})

    def _answer(self, code: int, content: Any) -> None:
        body = b"" if content is None else (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(code)
        self.send_header("Content-Type", "text/plain" if isinstance(content, str) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        self.log_line(f"{self.client_address[0]} {format % args}")
