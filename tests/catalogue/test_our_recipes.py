"""The catalogue: every recipe compiles for the example cluster, and the catalogue covers what sparkc offers."""

from __future__ import annotations

from collections import Counter

import pytest

from sparkc import resources
from sparkc.diagnostics import Report
from sparkc.engines.registry import ENGINES
from sparkc.reading.read import read_document
from sparkc.recipe.dialects import read_recipe

FILES = sorted(resources.folder("recipes").rglob("*.yaml"))


def read(path):
    report = Report()
    recipe = read_recipe(read_document(path.name, path.read_bytes(), report), report)
    assert report.diagnostics == ()
    return recipe


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recipe_is_read_without_a_word(path):
    recipe = read(path)
    assert recipe.dialect == "native"
    assert recipe.description
    assert recipe.port.value == 8000
    # The bundle's folder is the file's name as Compose can have it: without dots.
    assert recipe.base_name.value == path.stem.replace(".", "-")


def test_the_catalogue_covers_one_to_eight_nodes_both_modes_and_every_feature():
    recipes = [read(path) for path in FILES]
    sizes = Counter(
        (r.parallel.tensor.value if r.parallel.tensor else 1)
        * (r.parallel.pipeline.value if r.parallel.pipeline else 1)
        for r in recipes
    )
    assert {1, 2, 3, 4, 8} <= set(sizes)
    assert {r.engine.value for r in recipes} == set(ENGINES) - {"plain"}
    assert len({r.base_name.value for r in recipes}) == len(recipes) >= 12
    assert any(r.mods for r in recipes)
    assert any(r.earlyoom for r in recipes)
    assert any(r.defaults for r in recipes)
    text = "\n".join(path.read_text() for path in FILES)
    for flag in ("--speculative-config", "--limit-mm-per-prompt", "--compilation-config"):
        assert f"  {flag}: " in text or f"  {flag}:\n" in text


def test_every_recipe_has_its_bundle_in_out():
    out = resources.folder("recipes").parent / "out"
    if not out.is_dir():
        pytest.skip("an installed sparkc carries the catalogue without its bundles")

    bundles = {path.parent.name for path in out.glob("*/bundle.json")}

    assert bundles == {read(path).base_name.value for path in FILES}
