"""Whatever a file holds, sparkc answers with located errors: mutated recipes and inventories, thousands of them.

SPARKC_FUZZ is the number of mutated inputs. Without it they are the same 2,000 in every run.
"""

import os
import re

import pytest
from fuzz_inputs import INVENTORIES, INVENTORY, NATIVE, ODD, ODD_BYTES, PLAIN, RECIPES, SCRIPT, SM121, SPARKRUN, V1
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from system_tools import ProjectFolder

from sparkc.diagnostics import Severity
from sparkc.diagnostics.codes import CODES
from sparkc.diagnostics.render import render
from sparkc.errors import SparkcError

EXAMPLES = int(os.environ.get("SPARKC_FUZZ", "2000"))

_VALUE = re.compile(r"(?<=[:=] )[^\n]+|(?<=- )[^\n]+|(?<=[\[{,] )[^,\]}\n]+")
_WORD = re.compile(r"[^\s,\[\]{}:=]+")

CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])  # what a command line can hold
POSITION = st.integers(0, 9999)
MUTATION = st.one_of(
    st.tuples(st.sampled_from(["delete", "double", "swap", "truncate", "indent"]), POSITION, POSITION),
    st.tuples(st.sampled_from(["value", "word", "insert"]), POSITION, st.sampled_from(ODD)),
    st.tuples(st.sampled_from(["value", "word", "insert"]), POSITION, st.text(max_size=12)),
)
BYTES = st.lists(st.tuples(POSITION, st.one_of(st.sampled_from(ODD_BYTES), st.binary(max_size=4))), max_size=1)


def mutated(text, mutations, raw):
    for kind, where, what in mutations:
        text = _mutated(text, kind, where, what)
    data = text.encode("utf-8", "surrogatepass")
    for where, what in raw:
        at = where % (len(data) + 1)
        data = data[:at] + what + data[at + 1 :]
    return data


def _mutated(text, kind, where, what):
    lines = text.split("\n")
    at = where % len(lines)
    if kind == "delete":
        del lines[at]
    elif kind == "double":
        lines.insert(what % len(lines), lines[at])
    elif kind == "swap":
        other = what % len(lines)
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "indent":
        lines[at] = " " * (what % 5) + lines[at].lstrip()
    elif kind == "truncate":
        return text[: where % (len(text) + 1)]
    elif kind == "insert":
        at = where % (len(text) + 1)
        return text[:at] + what + text[at:]
    else:
        found = list((_VALUE if kind == "value" else _WORD).finditer(text))
        if found:
            place = found[where % len(found)]
            return text[: place.start()] + what + text[place.end() :]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = ProjectFolder(tmp_path_factory.mktemp("fuzz"))
    folder.mod("first")
    return folder


def check(outcome, *, located=True):
    for found in outcome.diagnostics:
        assert found.code in CODES
        assert found.message
        for span in (found.span, *(place.span for place in found.related)):
            if span is not None:
                assert_inside(span)
        if found.severity is Severity.ERROR:
            # A token in a rendered file has no single place that it came from.
            assert found.span is not None or not located or found.code == "SPK370", found
    assert (outcome.compiled is None) == bool(outcome.errors)
    for format_ in ("text", "json", "github"):
        render(outcome.diagnostics, format_, color=False).encode()


def assert_inside(span):
    """A caret takes one column, also at the end of a line."""
    lines = span.source.text.split("\n")
    assert (1, 1) <= (span.line, span.column) <= (span.end_line, span.end_column)
    assert span.end_line <= len(lines)
    assert span.column <= len(lines[span.line - 1]) + 1
    assert span.end_column <= len(lines[span.end_line - 1]) + 2


def without_inventory(project):
    for old in project.root.glob("inventory.*"):
        old.unlink()


def answers(project, name, data):
    without_inventory(project)
    is_inventory = name.startswith("inventory")
    project.write(name, data)
    if not is_inventory:
        project.write("inventory.yaml", INVENTORY)
    try:
        outcome = project.compile("recipe.yaml" if is_inventory else name)
    except SparkcError as error:
        assert error.hint  # noqa: PT017 - a refusal is fine when it says what to do
        return
    check(outcome)


def fuzz(share):
    return settings(
        max_examples=max(1, int(EXAMPLES * share)),
        derandomize="SPARKC_FUZZ" not in os.environ,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


MUTATIONS = st.lists(MUTATION, min_size=1, max_size=4)


@pytest.mark.parametrize("kind", RECIPES)
@fuzz(0.6 / len(RECIPES))
@given(mutations=MUTATIONS, raw=BYTES)
def test_mutated_recipes(project, kind, mutations, raw):
    name, text = RECIPES[kind]
    answers(project, name, mutated(text, mutations, raw))


@pytest.mark.parametrize("kind", INVENTORIES)
@fuzz(0.2 / len(INVENTORIES))
@given(mutations=MUTATIONS, raw=BYTES)
def test_mutated_inventories(project, kind, mutations, raw):
    name, text = INVENTORIES[kind]
    project.write("recipe.yaml", NATIVE)
    answers(project, name, mutated(text, mutations, raw))


@fuzz(0.05)
@given(suffix=st.sampled_from(["yaml", "toml", "sh"]), data=st.binary(max_size=200))
def test_random_bytes(project, suffix, data):
    answers(project, f"recipe.{suffix}", data)


ODD_TEXT = st.one_of(st.sampled_from([odd for odd in ODD if "\x00" not in odd]), st.text(CHARACTERS, max_size=12))
PAIRS = st.lists(st.tuples(ODD_TEXT, ODD_TEXT), max_size=2).map(tuple)
TEXTS = st.lists(ODD_TEXT, max_size=2).map(tuple)
JOINED = st.lists(ODD_TEXT, min_size=1, max_size=3).map(":".join)
MAYBE = st.none() | ODD_TEXT


@fuzz(0.15)
@given(
    text=st.sampled_from([NATIVE, PLAIN, V1, SCRIPT, SPARKRUN]),
    options=st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(("nodes", "name", "image", "host", "max_model_len", "earlyoom_args", "user"), MAYBE),
            **dict.fromkeys(("set", "env"), PAIRS),
            **dict.fromkeys(("mods", "arguments"), TEXTS),
            **dict.fromkeys(("volumes", "publish"), st.lists(JOINED, max_size=2).map(tuple)),
            **dict.fromkeys(("eth_if", "ib_if"), MAYBE),
            **dict.fromkeys(("tp", "pp", "dp", "port", "master_port"), st.integers(1, 65535)),
            **dict.fromkeys(("solo", "privileged", "non_privileged", "keep_entrypoint", "earlyoom"), st.booleans()),
            "ray": st.booleans(),
        },
    ),
    own=st.booleans(),
)
def test_odd_options(project, text, options, own):
    without_inventory(project)
    if own:
        project.write("inventory.yaml", INVENTORY)
    project.write("recipe.yaml", text)
    try:
        outcome = project.compile("recipe.yaml", **options)
    except SparkcError as error:
        assert error.hint  # noqa: PT017 - a refusal is fine when it says what to do
        return
    check(outcome, located=False)


@pytest.mark.parametrize(("name", "text"), RECIPES.values(), ids=RECIPES)
def test_what_is_mutated_compiles(project, name, text):
    without_inventory(project)
    project.write("inventory.yaml", INVENTORY)
    project.write(name, text)
    outcome = project.compile(name)
    check(outcome)
    assert outcome.compiled is not None, [error.message for error in outcome.errors]


@pytest.mark.parametrize(("name", "text"), INVENTORIES.values(), ids=INVENTORIES)
def test_the_inventories_that_are_mutated_compile(project, name, text):
    without_inventory(project)
    project.write("recipe.yaml", NATIVE)
    project.write(name, text)
    outcome = project.compile("recipe.yaml")
    assert outcome.compiled is not None, [error.message for error in outcome.errors]


def test_a_size_of_another_dialect_is_checked_too(project):
    without_inventory(project)
    project.write("inventory.yaml", INVENTORY)
    project.write("recipe.toml", SM121.replace('"32gb"', '"much"'))
    outcome = project.compile("recipe.toml")
    check(outcome)
    assert [(error.code, error.span.line) for error in outcome.errors] == [("SPK155", 10)]


@pytest.mark.parametrize("name", ["recipe.toml", "inventory.toml"])
def test_an_endless_integer_is_a_located_error(project, name):
    project.write("recipe.yaml", NATIVE)
    answers(project, name, f"sparkc = {'9' * 5000}\n".encode())
