"""Public recipes, read in place where a folder of them is given: SPARKC_CORPUS=/path pytest …"""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.placeholders import fill_word

CORPUS = os.environ.get("SPARKC_CORPUS")


@pytest.mark.skipif(CORPUS is None, reason="SPARKC_CORPUS names no folder of recipes")
def test_every_public_recipe_is_read_or_refused_with_a_place(capsys):
    counts = Counter()
    for path in sorted(Path(CORPUS).rglob("*")):
        if path.suffix not in {".yaml", ".yml", ".toml"} or not path.is_file():
            continue
        report = Report()
        recipe = read_recipe_file(path.name, path.read_bytes(), report)
        assert (recipe is None) <= report.failed
        assert all(found.span is not None and found.hint for found in report.diagnostics)
        codes = {found.code for found in report.diagnostics if found.severity.value == "error"}
        kind = type(recipe.command).__name__ if recipe else " ".join(sorted(codes))
        counts[recipe.dialect if recipe else "refused", kind] += 1
    with capsys.disabled():
        for (dialect, kind), count in sorted(counts.items()):
            sys.stdout.write(f"\n{count:4} {dialect}: {kind}")
    assert counts["spark-vllm-docker", "Argv"] > 0


@pytest.mark.skipif(CORPUS is None, reason="SPARKC_CORPUS names no folder of recipes")
def test_public_v1_commands_give_the_words_that_bash_gives_their_launcher():
    compared = 0
    for path in sorted(Path(CORPUS).rglob("*.yaml")):
        recipe = read_recipe_file(path.name, path.read_bytes(), Report())
        if recipe is None or recipe.dialect != "spark-vllm-docker":
            continue
        values = {name: value.value for name, value in recipe.defaults.items()}
        command = next(entry.value for entry in read_yaml(path).root.entries if entry.key.text == "command").text
        text = command.format(**values).rstrip().rstrip("\\\n")
        text = "\n".join(line for line in text.split("\n") if not re.fullmatch(r"[\s\\]*", line))
        stub = "vllm() { printf '%s\\0' vllm \"$@\"; }; uvicorn() { printf '%s\\0' uvicorn \"$@\"; }\n"
        out = subprocess.run(["bash", "-c", stub + text], capture_output=True, check=True, text=True).stdout
        ours = [item for word in recipe.command.words for item in fill_word(word, values, Report())]
        assert ours == out.split("\0")[:-1], path.name
        compared += 1
    assert compared > 0


def read_yaml(path):
    return read_document(path.name, path.read_bytes(), Report())
