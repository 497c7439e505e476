"""Values that would be commands or options, were they ever read as such: in an inventory, and in a bundle.json.

Whoever writes these files may run programs on the nodes anyway; but not by a quote too many, and not on this machine.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lab.deployment import SPARKC, Deployment
from lab.project import inventory
from sparkc.bundle.load import parse_manifest
from sparkc.diagnostics.model import Report

pytestmark = pytest.mark.lab

CANARY = f"/tmp/canary-{os.getpid()}"
_TOUCH = f"touch {CANARY}"
_LINE = f"-oProxyCommand={_TOUCH} \"$({_TOUCH})\" '; {_TOUCH}; ' `{_TOUCH}` & {_TOUCH} & \\"
# Where one is refused by its form, another may fit.
HOSTILE = (f"{_LINE}\n{_TOUCH}\n", _LINE, f"/{_LINE}\n{_TOUCH}\n", f"/{_LINE}")
Path_ = tuple[Any, ...]


@pytest.fixture
def demo(fresh_lab, tmp_path):
    made = Deployment(fresh_lab, tmp_path)
    made.new = made.compile()
    yield made
    check_no_canary(made)


def check_no_canary(demo: Deployment) -> None:
    """Make sure that no hostile value was run, neither here nor on a node."""
    assert not Path(CANARY).exists()
    assert not [node.name for node in demo.nodes if (node.root / CANARY.lstrip("/")).exists()]


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the places of all strings in a document."""
    if isinstance(value, str):
        yield path
    else:
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            yield from leaves(child, (*path, key))


def put(document: Any, path: Path_, value: str) -> Any:
    """Return a copy of a document with another string in one place."""
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def check_harmless(done) -> None:
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1, 2), said
    assert "Traceback" not in said
    # A message is a line, whatever is in the value: none of it may look like another line.
    assert not [line for line in said.splitlines() if line == _TOUCH]


def test_bundle(demo):
    manifest = demo.new
    bundle = demo.folder / "out/demo"
    # One file and one node stand for the others.
    places = [path for path in leaves(manifest) if not (path[0] in ("files", "ranks") and path[1] == 0)]
    places = [path for path in places if not (path[0] == "files" and path[1] > 1)]

    def attempt(path: Path_):
        """Deploy with the first value in this place that is not refused as being no bundle.json at all."""
        for value in HOSTILE:
            data = json.dumps(put(manifest, path, value)).encode()
            if parse_manifest("bundle.json", data, Report()) is not None:
                folder = demo.folder / "hostile" / "-".join(map(str, path)) / "demo"
                shutil.copytree(bundle, folder)
                (folder / "bundle.json").write_bytes(data)
                return path, value, demo.sparkc("deploy", str(folder), "--dry-run")
        return path, None, None

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(attempt, places))

    tried = {path[-1] for path, value, _ in outcomes if value is not None}
    assert {"ssh", "user", "home", "node", "image", "address", "interface", "source", "path"} <= tried
    taken = {}
    for path, value, done in outcomes:
        if done is not None:
            check_harmless(done)
            if done.returncode == 0:
                taken[path] = value
    # What stands in nobody's way is deployed, all at once.
    assert {("client_url",), ("topology",)} <= set(taken)
    worst = manifest
    for path, value in taken.items():
        worst = put(worst, path, value)
    (bundle / "bundle.json").write_text(json.dumps(worst), "utf-8")
    check_harmless(demo.deploy())
    check_harmless(demo.sparkc("status", "demo", "--deep"))
    check_harmless(demo.sparkc("down", "demo"))
    assert demo.containers() == [None, None]
    demo.check_bystanders()


@pytest.mark.parametrize("key", ["ssh", "user", "home"])
def test_bundle_other_commands(hostile, key):
    demo, folders = hostile

    for command in ("status", "down", "logs", "doctor", "rollback"):
        done = demo.sparkc(command, str(folders[key]), *(["--yes"] if command == "rollback" else []))
        check_harmless(done)
        # With a wrong home, a node can be asked all the same.
        assert done.returncode != 0 or key == "home"
        assert "no ssh target" in done.stderr or key == "home"
    check_no_canary(demo)


@pytest.fixture(scope="module")
def hostile(lab, tmp_path_factory):
    """Bundles that say where their nodes are in words that are commands."""
    lab.reset()
    demo = Deployment(lab, tmp_path_factory.mktemp("demo"))
    manifest = demo.compile()
    folders = {}
    for key in ("ssh", "user", "home"):
        folders[key] = demo.folder / key / "demo"
        shutil.copytree(demo.folder / "out/demo", folders[key])
        worst = put(manifest, ("ranks", 1, key), HOSTILE[2 if key == "home" else 0])
        (folders[key] / "bundle.json").write_text(json.dumps(worst), "utf-8")
    return demo, folders


def test_inventory(demo):
    lines = inventory(demo.nodes).splitlines()
    document = {
        "name": "lab",
        "topology": "switch",
        "caches": {"vllm": "~/.cache/vllm"},
        "env": {"WORD": "x"},
        "nodes": [json.loads(line.strip().removeprefix("- ")) for line in lines if line.startswith("  - ")],
    }
    document["nodes"][1] |= {"transfer": "192.168.177.12", "env": {"OTHER": "x"}, "caches": {"triton": "/var/tmp/t"}}
    places = [path for path in leaves(document) if path[:2] != ("nodes", 0) and path[2:] != ("hcas", 1)]

    def attempt(path: Path_):
        """Compile with each value in this place, and deploy with the first that is taken."""
        project = demo.folder / "hostile" / "-".join(map(str, path))
        shutil.copytree(demo.folder / "recipes", project / "recipes")
        refusals = []
        for value in HOSTILE:
            text = json.dumps({"sparkc_inventory": 1, **put(document, path, value)})
            (project / "inventory.yaml").write_text(text, "utf-8")
            compiled = demo.lab.run([SPARKC, "compile", "demo"], cwd=project)
            if compiled.returncode == 0:
                return path, refusals, demo.lab.run([SPARKC, "deploy", "demo", "--dry-run"], cwd=project)
            refusals.append(compiled)
        return path, refusals, None

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(attempt, places))

    for path, refusals, done in outcomes:
        for refused in refusals:
            check_harmless(refused)
            assert "inventory.yaml:" in refused.stderr, (path, refused.stderr)
            assert "help: " in refused.stderr, (path, refused.stderr)
        if done is not None:
            check_harmless(done)
    refused = {path[-1] for path, _, done in outcomes if done is None}
    assert {"name", "ssh", "user", "address", "interface", "transfer"} <= refused
