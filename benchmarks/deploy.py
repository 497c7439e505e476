"""How much longer a deploy to eight nodes takes than one to a single node: next to nothing, as all work at once.

    python benchmarks/deploy.py [--smoke]

All nodes of the lab share this machine's processors, so what is compared must be waiting, not work: each call of docker
on a node takes 2 s more, and the engine needs 10 s to load. One round, real ssh, rsync and Docker Engines. Exits with 1
when the ratio is over its limit. ``--smoke`` only finds out whether everything still runs, in a minute. Where no lab
can run, says why and exits with 0, or with 1 when SPARKC_REQUIRE_LAB=1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from lab.cluster import Lab
from lab.deployment import Deployment
from lab.requirements import why_not

LIMIT = 1.5


@dataclass(frozen=True)
class Shape:
    """What is measured: a group of ``nodes`` against one node, with these waits in seconds."""

    nodes: int
    docker: float
    loading: int


FULL = Shape(nodes=8, docker=2, loading=10)
SMOKE = Shape(nodes=4, docker=0.4, loading=5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="four nodes, no limit: does everything run?")
    smoke = parser.parse_args().smoke
    shape = SMOKE if smoke else FULL
    reason = why_not()
    if reason is not None:
        print(f"not measured: {reason}")
        return int(os.environ.get("SPARKC_REQUIRE_LAB") == "1")
    name = f"bench-{os.getpid()}"
    lab = Lab.up(name, shape.nodes)
    try:
        with tempfile.TemporaryDirectory() as folder:
            one, all_nodes = (measure(lab, Path(folder, str(count)), count, shape) for count in (1, shape.nodes))
    finally:
        lab.down()
    ratio = all_nodes / one
    print(f"deploy to  1 node   {one:6.1f} s")
    print(f"deploy to {shape.nodes:2} nodes  {all_nodes:6.1f} s   {ratio:.2f} × (limit {LIMIT} ×)")
    return int(ratio > LIMIT and not smoke)


def measure(lab: Lab, folder: Path, count: int, shape: Shape) -> float:
    """Return the seconds that a deploy to ``count`` nodes on which nothing runs takes."""
    demo = Deployment(lab, folder, count)
    demo.compile({"STUB_READY_AFTER": str(shape.loading)}, "ready_timeout: 300s\n")
    demo.slow_docker(shape.docker)
    start = time.monotonic()
    done = demo.deploy(timeout=600)
    seconds = time.monotonic() - start
    demo.slow_docker(0)
    if done.returncode:
        raise SystemExit(f"the deploy to {count} nodes failed:\n{done.stderr}")
    down = demo.sparkc("down", "demo")
    if down.returncode:
        raise SystemExit(down.stderr)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
