"""What sparkc needs to know of a lab: an inventory of its nodes, and a project folder with a recipe for the stub."""

from __future__ import annotations

import json
from pathlib import Path

from .login import USER
from .node import Node
from .state import HCAS, INTERFACES
from .stub_image import TAG
from .system import LabError

RECIPE = """\
sparkc: 1
name: demo
engine: vllm
image: {image}
model: lab/tiny
port: 8000
parallel: {{tensor: {tensor}}}
health: {{start_period: 60s, interval: 1s}}
"""

# The folders that a bundle of vLLM mounts; sparkc's rule is that they exist before Docker would make them as root.
CACHES = (".cache/huggingface", ".cache/vllm", ".cache/flashinfer", ".cache/b12x", ".triton", ".tilelang")


def inventory(nodes: list[Node]) -> str:
    """Return an inventory of ``nodes`` in sparkc's own format (YAML; every value in JSON's form is YAML too)."""
    entries = [
        {
            "name": node.name,
            "ssh": node.name,
            "user": USER,
            "home": node.home,
            "address": node.address("rail-a"),
            "interface": INTERFACES["rail-a"],
            "hcas": list(HCAS.values()),
            "hca_addresses": {hca: f"{node.address(link)}/24" for link, hca in HCAS.items()},
        }
        for node in nodes
    ]
    # sparkc's default topology for two nodes is a cable between them; here all nodes hang on one switch.
    topology = "single" if len(nodes) == 1 else "switch"
    lines = ["sparkc_inventory: 1", "name: lab", f"topology: {topology}", "nodes:"]
    return "\n".join([*lines, *(f"  - {json.dumps(entry)}" for entry in entries)]) + "\n"


def write_project(folder: Path, nodes: list[Node], image: str = TAG) -> Path:
    """Make a sparkc project in ``folder``: the inventory, and ``recipes/demo.yaml``, which takes all nodes."""
    (folder / "recipes").mkdir(parents=True, exist_ok=True)
    (folder / "inventory.yaml").write_text(inventory(nodes), encoding="utf-8")
    recipe = RECIPE.format(image=image, tensor=len(nodes))
    (folder / "recipes/demo.yaml").write_text(recipe, encoding="utf-8")
    return folder


def make_caches(node: Node) -> None:
    """Make the cache folders in the login user's home, as an earlier download would have done."""
    node.run(["mkdir", "-p", *(f"{node.home}/{cache}" for cache in CACHES)], user=USER)


def put_release(node: Node, bundle: Path) -> str:
    """Copy the node's rank folder of a bundle to its home, without sparkc's runner, and return where it is."""
    found = list(bundle.glob(f"rank-*-{node.name}"))
    if len(found) != 1:
        raise LabError(f"{bundle} has no rank for {node.name}")
    target = f"{node.home}/{bundle.name}"
    node.run(["mkdir", "-p", target], user=USER)
    for source in found[0].rglob("*"):
        if source.is_file():
            copy = node.root / target.lstrip("/") / source.relative_to(found[0])
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
            copy.chmod(source.stat().st_mode & 0o777)
    return target
