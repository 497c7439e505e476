"""The scripts that run on nodes: nothing that shellcheck knows better, and given exactly what they ask for."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import sparkc
from sparkc.runner.node_script import node_script

PACKAGE = Path(sparkc.__file__).parent
SCRIPTS = sorted(path.stem for path in (PACKAGE / "runner/scripts").glob("*.sh") if path.stem != "prelude")
# Bash's and awk's own, and what the prelude says.
KNOWN = {"MARK", "PATH", "HOME", "LC_ALL", "UID", "EPOCHSECONDS", "NF"}


def body(name):
    text = (PACKAGE / f"runner/scripts/{name}.sh").read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def asked(name):
    """The variables that a script takes from outside: in capitals, as its own never are."""
    text = body(name)
    # Bash takes names without a dollar there: $((now + BUDGET)), ${newest[@]:KEPT}.
    arithmetic = " ".join(re.findall(r"\(\(.*?\)\)|\]:[^}]*\}", text))
    found = re.findall(r"\$\{?[#!]?([A-Z][A-Z0-9_]*)", text) + re.findall(r"\b[A-Z][A-Z0-9_]*\b", arithmetic)
    return set(found) - KNOWN


@cache
def calls():
    """Every call of node_script in the package: (script, names of the values)."""
    return tuple(_calls())


def _calls():
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="node_script"), args=[ast.Constant(value=name)], keywords=keywords):
                    yield name, {keyword.arg for keyword in keywords}


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_has_nothing_to_say(name):
    checker = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert checker, "shellcheck is part of the dev dependencies"
    lists = set(re.findall(r"\$\{[#!]?([A-Z][A-Z0-9_]*)\[", body(name)))
    values = {variable: ["a b", "c"] if variable in lists else "a b" for variable in asked(name)}

    done = subprocess.run(
        [checker, "--shell=bash", "-"],
        input=node_script(name, **values).text,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == ""


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_given_what_it_asks_for_and_nothing_else(name):
    given = [values for script, values in calls() if script == name]

    assert given, "no code sends this script"
    assert [sorted(values) for values in given] == [sorted(asked(name))] * len(given)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_failing_command_does_not_end_a_script_unseen(name):
    assert not re.search(r"^\s*set -\w*e", body(name), re.MULTILINE)
