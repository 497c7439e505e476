"""Public recipes through the flag check, read in place: SPARKC_CORPUS=/path pytest …

Their authors run these commands, so an error would be one of ours: the engine takes them all.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.inventory.example import example_inventory
from sparkc.planning.group import Inputs
from sparkc.planning.overrides import Overrides
from sparkc.planning.plan import make_plan
from sparkc.recipe.dialects import read_recipe_file

CORPUS = Path(os.environ.get("SPARKC_CORPUS", "/nonexistent"))
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="SPARKC_CORPUS names no folder of public recipes")


def findings(path):
    """What the flag check says about a file, or None where no plan, or no engine with a parser, comes of it."""
    report = Report()
    siblings = {file.name: file for file in path.parent.iterdir()}
    recipe = read_recipe_file(
        path.name, path.read_bytes(), report, lambda name: siblings[name].read_bytes() if name in siblings else None
    )
    if recipe is None:
        return None
    plan = make_plan(Inputs(recipe, example_inventory(), Overrides()), report)
    found = [one for one in report.diagnostics if one.code.startswith("SPK8")]
    reached = plan is not None and plan.engine in ("vllm", "vllm-ray", "sglang")
    return found if found or reached else None


def test_no_command_that_people_run_is_refused(capsys):
    counts, checked, errors = Counter(), 0, []
    for path in sorted(CORPUS.rglob("*")):
        if path.suffix not in {".yaml", ".yml", ".toml", ".sh"} or not path.is_file():
            continue
        found = findings(path)
        if found is None:
            continue
        checked += 1
        counts.update((one.code, one.severity.value) for one in found)
        errors += [(path.name, one.code, one.message) for one in found if one.severity is Severity.ERROR]
    with capsys.disabled():
        listed = "".join(f"\n{count:4} {code} {severity}" for (code, severity), count in sorted(counts.items()))
        sys.stdout.write(f"\n{checked} commands checked{listed}\n")
    assert errors == []
    assert checked > 0
