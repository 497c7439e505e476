"""What sparkc costs, as ratios to programs that everybody knows, measured side by side in one run.

    python benchmarks/compile.py [--rounds N] [--limits] [--smoke]

Each round runs every command once, so that a busy machine slows all of them alike; the table shows medians. Ratios
compare processor time (user and system), which other processes disturb least; wall time stands beside it.
``--limits`` exits with 1 when a ratio is over its limit. ``--smoke`` only finds out whether everything still runs.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
RECIPE = "minimax-m2.5-ray-4x"
RANKS = 4
COLD = f"sparkc compile, {RANKS} ranks, nothing there yet"
UNCHECKED = "the same without the check of the engine's flags"

# Runs the command line with a flag check that does nothing, so that neither its modules nor its data are read.
WITHOUT_CHECK = """
import sys, types
nothing = types.ModuleType("sparkc.flags.check")
nothing.check_command = lambda *args, **options: None
sys.modules[nothing.__name__] = nothing
from sparkc.cli.main import main
main()
"""

# Variables of the caller, such as PYTHONDONTWRITEBYTECODE, must not decide what is measured.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


@dataclass
class Row:
    """One line of the table. ``limit`` is for the ratio of its processor time to that of ``base``."""

    title: str
    command: list[str]
    prepare: Callable[[], object] = lambda: None
    directory: Path = ROOT
    limit: float | None = None
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Run the command once; times are in milliseconds."""
        self.prepare()
        start = time.perf_counter()
        child = subprocess.Popen(
            self.command, cwd=self.directory, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        self.wall.append(1000 * (time.perf_counter() - start))
        self.cpu.append(1000 * (usage.ru_utime + usage.ru_stime))
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{self.title}: {' '.join(self.command)} exited with {child.returncode}")


def rows(scratch: Path) -> Iterator[Row]:
    """Yield what is measured; the first row is what the others are compared with."""
    sparkc = str(Path(sys.executable).with_name("sparkc"))
    project = scratch / "project"
    project.mkdir()
    (project / "inventory.yaml").write_text(inventory(RANKS), encoding="utf-8")
    compile_one = [sparkc, "compile", RECIPE, "--out", str(scratch / "out")]
    yield Row("python -c pass", [sys.executable, "-c", "pass"])
    yield Row("sparkc --help", [sparkc, "--help"], limit=5)
    yield Row(
        COLD,
        compile_one,
        prepare=lambda: shutil.rmtree(scratch / "out", ignore_errors=True),
        directory=project,
        limit=12,
    )
    yield Row(
        UNCHECKED,
        [sys.executable, "-c", WITHOUT_CHECK, *compile_one[1:]],
        prepare=lambda: shutil.rmtree(scratch / "out", ignore_errors=True),
        directory=project,
    )
    yield Row(f"sparkc compile, {RANKS} ranks, nothing to change", compile_one, directory=project)
    bundles = len(list(ROOT.glob("out/*/bundle.json")))
    if bundles:
        yield Row(f"sparkc compile --check, {bundles} bundles", [sparkc, "compile", "--check"])
    compose = Path(sys.executable).with_name("docker-compose")
    if compose.is_file():
        subprocess.run(compile_one, cwd=project, env=ENVIRONMENT, check=True, capture_output=True)
        file = next((scratch / "out").glob("*/rank-0-*/compose.yaml"))
        kept = scratch / "rank"
        shutil.copytree(file.parent, kept)
        yield Row("docker-compose config -q, 1 rank", [str(compose), "-f", str(kept / "compose.yaml"), "config", "-q"])
    helm = shutil.which("helm")
    if helm is not None:
        subprocess.run([helm, "create", "chart"], cwd=scratch, env=ENVIRONMENT, check=True, capture_output=True)
        yield Row("helm template, the chart of helm create", [helm, "template", "chart"], directory=scratch)


def inventory(nodes: int) -> str:
    """Return an inventory of so many Sparks on a switch."""
    listed = "".join(
        f"  - {{name: n{i}, ssh: n{i}.lan, address: 10.0.{i // 250}.{i % 250 + 1}}}\n" for i in range(nodes)
    )
    return (
        "sparkc_inventory: 1\nname: lab\ntopology: switch\n"
        "defaults: {user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0]}\n"
        f"nodes:\n{listed}"
    )


def in_memory(recipe_name: str, recipe: bytes, inventory_text: str) -> tuple[float, float]:
    """Return the processor times, in milliseconds, of reading an inventory, and from a recipe's bytes to all files."""
    from sparkc.bundle.render import render
    from sparkc.diagnostics import Report
    from sparkc.inventory.load import read_inventory
    from sparkc.planning.group import Inputs
    from sparkc.planning.overrides import Overrides
    from sparkc.planning.plan import make_plan
    from sparkc.reading.read import read_document
    from sparkc.recipe.dialects import read_recipe_file

    report = Report()
    start = time.process_time()
    nodes = read_inventory(read_document("inventory.yaml", inventory_text.encode(), report), report)
    between = time.process_time()
    files = render(make_plan(Inputs(read_recipe_file(recipe_name, recipe, report), nodes, Overrides()), report))
    end = time.process_time()
    if not any(file.path == "bundle.json" for file in files):
        raise SystemExit(f"{recipe_name} did not compile")
    return 1000 * (between - start), 1000 * (end - between)


def one_more_recipe() -> float:
    """Return what a process that has compiled a recipe for the same nodes takes for another."""
    both = ("minimax-m2.5-awq.yaml", f"{RECIPE}.yaml")
    return [in_memory(name, (ROOT / "recipes" / name).read_bytes(), inventory(RANKS))[1] for name in both][-1]


def growth(small: int = 256, large: int = 512) -> float:
    """Return the ratio of what all pure stages take for ``large`` and for ``small`` ranks."""
    spent = []
    for ranks in (8, small, large):  # the first fills caches
        recipe = (
            "sparkc: 1\nname: wide\nengine: vllm\nimage: example/vllm:1\nmodel: org/model\n"
            f"parallel: {{tensor: 8, pipeline: {ranks // 8}}}\nargs: [--max-model-len, '4096']\n"
        )
        spent.append(sum(in_memory("wide.yaml", recipe.encode(), inventory(ranks))))
    return spent[2] / spent[1]


INNER = {"one-more": one_more_recipe, "growth": growth}


def in_child(what: str) -> float:
    """Return one of ``INNER`` from a process of its own, whose caches are as cold as a user's."""
    command = [sys.executable, __file__, "--measure", what]
    return float(subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="What sparkc costs, as ratios to programs that everybody knows.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--limits", action="store_true", help="exit with 1 when a ratio is over its limit")
    parser.add_argument("--smoke", action="store_true", help="two rounds, no limits: does everything run?")
    parser.add_argument("--measure", choices=INNER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        gc.set_threshold(50_000)  # as the command line does
        print(INNER[options.measure]())
        return 0
    rounds = 2 if options.smoke else options.rounds
    inner: dict[str, list[float]] = {what: [] for what in INNER}
    with tempfile.TemporaryDirectory(prefix="sparkc-bench-") as scratch:
        measured = list(rows(Path(scratch)))
        for row in measured:  # once unmeasured, for the caches of the file system and of Python's compiled modules
            row.run()
            row.cpu.clear()
            row.wall.clear()
        for _ in range(rounds):
            for row in measured:
                row.run()
            for what, results in inner.items():
                results.append(in_child(what))
    over = report(measured, {what: median(results) for what, results in inner.items()}, rounds)
    return int(options.limits and not options.smoke and over)


def report(measured: list[Row], inner: dict[str, float], rounds: int) -> bool:
    """Print the table; return whether a ratio is over its limit."""
    base = median(measured[0].cpu)
    checked, unchecked = (next(row.cpu for row in measured if row.title == title) for title in (COLD, UNCHECKED))
    cold = median(checked)
    lines = [
        (
            row.title,
            f"{median(row.cpu):.1f}",
            f"{median(row.wall):.1f}",
            f"{median(row.cpu) / base:.1f}x",
            row.limit is not None and f"{row.limit:g}x",
            row.limit is not None and median(row.cpu) / base > row.limit,
        )
        for row in measured
    ]
    share = 100 * inner["one-more"] / cold
    # From round to round: what slows the machine for a while slows both.
    added = median(one - other for one, other in zip(checked, unchecked, strict=True))
    check = 100 * added / median(unchecked)
    lines += [
        ("what the check adds to a cold compile", f"{added:.1f}", "", f"{check:.1f}%", "15%", check > 15),
        ("one more recipe in memory, of that", f"{inner['one-more']:.1f}", "", f"{share:.1f}%", "5%", share > 5),
        ("pure stages, 512 ranks to 256", "", "", f"{inner['growth']:.2f}x", "2.2x", inner["growth"] > 2.2),
    ]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, medians of {rounds} rounds\n")
    print(f"{'':48} {'cpu ms':>8} {'wall ms':>8} {'ratio':>7} {'limit':>6}")
    for title, cpu, wall, ratio, limit, over in lines:
        print(f"{title:48} {cpu:>8} {wall:>8} {ratio:>7} {limit or '':>6}{'  over' if over else ''}")
    return any(line[-1] for line in lines)


if __name__ == "__main__":
    sys.exit(main())
