"""Public recipes of sparkrun, read in place where a folder of them is given: SPARKC_CORPUS=/path pytest …"""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Argv, Param
from sparkc.recipe.placeholders import fill_word

CORPUS = Path(os.environ.get("SPARKC_CORPUS", "/nonexistent"))
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="SPARKC_CORPUS names no folder of public recipes")

# Files that rightly do not compile: name → (code, line of the first error, why).
REFUSED = {
    "deepseek-v4-flash-0731-ds4.yaml": ("SPK030", 1, "an engine outside Docker, which no container holds"),
    "qwen-38-27b-fp8-eugr-leader.yaml": ("SPK138", 28, "tensor_parallel 4 on at most one node"),
    "qwen-38-27b-nvfp4-sglang.yaml": ("SPK143", 68, "three commands to choose from"),
}
# Recipes whose settings sparkc cannot carry over: name → codes of the warnings, apart from "kept as a script".
WARNED = {
    "gpt-oss-20b-vllm.yaml": {"SPK129"},  # restart policy
    "deepseek-v4-flash-0731-dspark-dual-spark-1m.yaml": {"SPK129"},  # hooks
    "unsloth-qwen3.6-35b-a3b-nvfp4-dgx-spark.yaml": {"SPK129"},  # hooks
    "nvidia__qwen3.6-27b-nvfp4-mtp-vllm.yaml": {"SPK128"},  # ${HF_TOKEN}
    "laguna-s-2.1.yaml": {"SPK129"},  # draft_model
    "medgemma-27b-medicomp.yaml": {"SPK020"},  # target_host
    "muse-glimmer-30b.yaml": {"SPK139"},  # no command, and defaults without a flag
}


def recipes():
    for path in sorted(CORPUS.rglob("*.yaml")):
        report = Report()
        recipe = read_recipe_file(path.name, path.read_bytes(), report)
        if path.name in REFUSED or (recipe is not None and recipe.dialect == "sparkrun"):
            yield path, recipe, report


def test_every_recipe_is_read_or_refused_for_a_known_reason(capsys):
    counts = Counter()
    seen = set()
    for path, recipe, report in recipes():
        seen.add(path.name)
        errors = [item for item in report.diagnostics if item.severity is Severity.ERROR]
        warnings = {item.code for item in report.diagnostics if item.severity is Severity.WARNING} - {"SPK119"}
        assert all(item.span is not None and item.hint for item in report.diagnostics), path.name
        if path.name in REFUSED:
            code, line, _ = REFUSED[path.name]
            assert (errors[0].code, errors[0].span.line) == (code, line), path.name
            counts["refused", code] += 1
            continue
        assert errors == [], path.name
        assert warnings == WARNED.get(path.name, set()), path.name
        counts[recipe.engine.value, type(recipe.command).__name__] += 1
    assert set(REFUSED) | set(WARNED) <= seen
    with capsys.disabled():
        for (kind, detail), count in sorted(counts.items()):
            sys.stdout.write(f"\n{count:4} sparkrun: {kind} {detail}")


def substituted(text, values):
    """What sparkrun does to the text before a shell reads it."""
    known = "|".join(map(re.escape, values))
    for _ in range(10):
        text = re.sub(r"\{(" + known + r")\}", lambda match: values[match[1]], text)
    return re.sub(r"\\[ \t]+\n", "\\\n", text.strip()).rstrip("\\ \n")


def test_commands_give_the_words_that_bash_gives_sparkrun():
    compared = 0
    for path, recipe, _ in recipes():
        if recipe is None or not isinstance(recipe.command, Argv):
            continue
        text = yaml_text(path, "command")
        if text is None:
            continue
        values = {name: value.value for name, value in recipe.defaults.items()}
        programs = ["vllm", "sglang", "python3", "trtllm-serve"]
        stub = "".join(f"{name}() {{ printf '%s\\0' {name} \"$@\"; }}\n" for name in programs)
        shell = subprocess.run(
            ["bash", "-c", stub + substituted(text, values)], capture_output=True, check=True, text=True
        )
        ours = [item for word in recipe.command.words for item in fill_word(word, values, Report())]
        assert ours == shell.stdout.split("\0")[:-1], path.name
        compared += 1
    assert compared > 30


def test_a_command_made_from_defaults_uses_every_one_that_has_a_flag():
    made = [
        (path, recipe) for path, recipe, _ in recipes() if recipe is not None and yaml_text(path, "command") is None
    ]
    assert made
    for path, recipe in made:
        used = {part.name for word in recipe.command.words for part in word.parts if isinstance(part, Param)}
        assert {"model", "port", "host", "served_model_name"} <= used, path.name


def yaml_text(path, key):
    import yaml

    value = yaml.load(path.read_text(), yaml.BaseLoader).get(key)
    return value if value and "{{" not in value else None
