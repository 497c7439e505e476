"""A sparkc project on the control machine whose recipe serves the tiny model, and what its clients see."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from lab.cluster import Lab, each
from lab.login import USER
from lab.node import Node
from lab.system import wait_until

from . import model, vllm_cpu
from .image import TAG

SPARKC = str(Path(sys.executable).with_name("sparkc"))
PORT = 8000
PROMPT = "the quick brown fox"

_START_SECONDS = 300  # four ranks on two cores, with cold files

_RECIPE = """\
sparkc: 1
name: tiny
engine: vllm
engine_version: "{version}"
image: {image}
model: {model}
revision: {revision}
served_model_name: [tiny]
port: {port}
parallel: {{tensor: {nodes}}}
args: [--dtype, float32, --max-model-len, "512", --max-num-seqs, "{sequences}", --enforce-eager]
env: {env}
mounts: [{{source: {environment}, target: {environment}, read_only: true}}]
health: {{start_period: 2m}}
ready_timeout: 5m
"""

_ENV = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}
# The image has no compiler, which PyTorch wants at the first completion, unless:
WITHOUT_COMPILER = {"TORCHDYNAMO_DISABLE": "1"}


class Project:
    """The project, and the group that it deploys on the first nodes of the lab."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder

    def compile(self, nodes: int, sequences: int = 4, env: dict[str, str] = WITHOUT_COMPILER) -> None:
        """Compile the bundle for the first ``nodes`` nodes; ``sequences`` makes another bundle of the same model."""
        self.lab.project(self.folder, nodes)
        (self.folder / "recipes/demo.yaml").unlink()
        recipe = _RECIPE.format(
            version=vllm_cpu.VERSION,
            image=TAG,
            model=model.NAME,
            revision=model.revision(),
            port=PORT,
            nodes=nodes,
            sequences=sequences,
            env=json.dumps({**_ENV, **env}),
            environment=vllm_cpu.environment(),
        )
        (self.folder / "recipes/tiny.yaml").write_text(recipe, encoding="utf-8")
        self.sparkc("compile", "tiny")

    def sparkc(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run sparkc in the project on the control machine."""
        done = self.lab.run([SPARKC, *arguments], cwd=self.folder, timeout=2 * _START_SECONDS)
        assert done.returncode == expect, f"sparkc {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def deploy(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Deploy the bundle as it was compiled last."""
        return self.sparkc("deploy", "tiny", "--yes", *arguments, expect=expect)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
        """Return the status and text of a request to rank 0 from the management network; 0 is no answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://{self.lab.nodes[0].address()}:{PORT}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def complete(self, prompt: str = PROMPT) -> tuple[int, str]:
        """Return the status of a completion of 32 tokens, each the likeliest, and its text (or the error's)."""
        # The end of the text is a token like others to random weights.
        wanted = {"model": "tiny", "prompt": prompt, "max_tokens": 32, "temperature": 0, "ignore_eos": True}
        status, text = self.ask("/v1/completions", wanted)
        return status, json.loads(text)["choices"][0]["text"] if status == 200 else text

    def container(self, rank: int) -> dict[str, Any]:
        """Return how the container of a rank is, as ``docker inspect`` shows it."""
        return self.lab.nodes[rank].docker.inspect("tiny")

    def wait_healthy(self) -> None:
        """Wait until the health check of rank 0 passes."""

        def healthy() -> bool:
            return bool(self.container(0)["State"]["Health"]["Status"] == "healthy")

        wait_until(healthy, "rank 0 to be healthy", _START_SECONDS, pause=1)

    def wait_ended(self, rank: int) -> None:
        """Wait until the container of a rank has ended."""
        wait_until(lambda: not self.container(rank)["State"]["Running"], f"rank {rank} to end", 60)


def prepare(lab: Lab) -> None:
    """Bring the image and the model to all nodes."""
    from .image import engine

    archive = engine().archive()
    each(lambda node: _prepare(node, archive), lab.nodes)


def _prepare(node: Node, archive: bytes) -> None:
    node.docker.load(archive)
    cache = f"{node.home}/.cache/huggingface"
    model.download(node.root / cache.lstrip("/"))
    node.run(["chown", "-R", f"{USER}:", cache])
