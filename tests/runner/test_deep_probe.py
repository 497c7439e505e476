"""One real completion: asked by the real script, of an HTTP server on this machine."""

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.deep_probe import deep_probe
from sparkc.runner.group import Group, Member
from sparkc.runner.processes import Processes
from support.local_connection import LocalConnection
from support.node_facts import manifest

MODELS = {"data": [{"id": 'org/"model" é'}]}
CHUNKED = "chunked"


@pytest.fixture
def api(tmp_path):
    """A server, and the group whose rank 0 it is; ``answers`` maps paths to (status, body)."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.answers = {"/v1/models": (200, MODELS), "/v1/completions": (200, {"choices": [{"text": "x"}]})}
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer(None)

    def do_POST(self):
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body):
        self.server.asked.append((self.path, body, self.headers.get("Authorization")))
        status, answer = self.server.answers[self.path]
        if status == 0:
            self.server.silence.wait(10)
            return
        data = json.dumps(answer).encode()
        self.send_response(status)
        if self.server.answers.get(CHUNKED):
            self.send_header("Transfer-Encoding", "chunked")
            data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
        else:
            self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def probe(tmp_path, port, secrets=None, seconds=20.0):
    made = manifest()
    ranks = (replace(made.ranks[0], ports=({"name": "api", "number": port},)), made.ranks[1])
    made = replace(made, ranks=ranks, client_url=f"http://127.0.0.1:{port}")
    members = tuple(Member(made, rank, LocalConnection(tmp_path, rank.node)) for rank in ranks)
    return deep_probe(Group(made, members, Processes()), secrets or {}, seconds)


def test_a_rank_that_completes(api, tmp_path):
    assert probe(tmp_path, api.server_port) == {0: None}
    assert api.asked == [
        ("/v1/models", None, None),
        ("/v1/completions", {"model": 'org/"model" é', "prompt": "1", "max_tokens": 1}, None),
    ]


def test_an_answer_in_chunks(api, tmp_path):
    api.answers[CHUNKED] = True

    assert probe(tmp_path, api.server_port) == {0: None}


def test_a_dead_worker_is_a_failure_that_shows_what_the_engine_says(api, tmp_path):
    api.answers["/v1/completions"] = (500, {"error": "EngineCore encountered an issue\x1b[2J"})

    failed = probe(tmp_path, api.server_port)[0]

    assert isinstance(failed, SparkcError)
    assert failed.host == "spark-1"
    assert failed.message == "rank 0 (head) answers /v1/completions with 500"
    assert failed.output == '{"error": "EngineCore encountered an issue\\u001b[2J"}'
    assert "sparkc logs demo" in (failed.hint or "")


def test_no_answer_is_a_failure(api, tmp_path):
    api.silence = threading.Event()
    api.answers["/v1/completions"] = (0, None)

    failed = probe(tmp_path, api.server_port, seconds=0.5)[0]
    api.silence.set()

    assert isinstance(failed, SparkcError)
    assert failed.message == "rank 0 (head) does not answer /v1/completions within 0.5 s"


def test_nothing_that_listens_is_a_failure(api, tmp_path):
    api.shutdown()
    api.server_close()

    failed = probe(tmp_path, api.server_port)[0]

    assert isinstance(failed, SparkcError)
    assert failed.message == f"rank 0 (head) has nothing that listens on port {api.server_port}"


def test_the_key_among_the_secrets_is_used(api, tmp_path):
    assert probe(tmp_path, api.server_port, {"VLLM_API_KEY": "k$(id) 'x'", "HF_TOKEN": "no"}) == {0: None}
    assert {key for _, _, key in api.asked} == {"Bearer k$(id) 'x'"}


@pytest.mark.parametrize(
    ("path", "answer", "secrets", "why"),
    [
        ("/v1/models", (401, {}), {}, "it asks for an API key: give VLLM_API_KEY as a secret"),
        ("/v1/models", (403, {}), {"VLLM_API_KEY": "old"}, "it refuses the API key"),
        ("/v1/completions", (404, "no"), {}, '/v1/completions gives 404: "no"'),
        ("/v1/models", (200, {"data": []}), {}, "/v1/models names no model"),
        ("/v1/models", (200, [1]), {}, "/v1/models names no model"),
    ],
)
def test_what_cannot_be_checked_is_no_failure(api, tmp_path, path, answer, secrets, why):
    api.answers[path] = answer

    assert probe(tmp_path, api.server_port, secrets) == {0: f"its completions cannot be checked: {why}"}
