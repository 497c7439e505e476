"""A parameter inside json_args stays one JSON string, whatever its value."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.recipe.dialects import read_recipe
from sparkc.recipe.model import Argv
from sparkc.recipe.placeholders import fill_word

RECIPE = """\
sparkc: 1
name: json
engine: vllm
image: img:1
model: org/model
defaults: {draft: org/draft}
json_args:
  --speculative-config: {model: "{draft}", n: 3}
"""


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_is_escaped_for_the_json_string_that_it_stands_in(value):
    report = Report()
    recipe = read_recipe(read_document("r.yaml", RECIPE.encode(), report), report)
    assert isinstance(recipe.command, Argv)

    [text] = fill_word(recipe.command.words[-1], {"draft": value}, report)

    assert json.loads(text) == {"model": value, "n": 3}
    assert not report.failed
