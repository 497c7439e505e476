import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.fields import Fields
from sparkc.reading.read import read_document
from sparkc.recipe.json_args import json_words
from sparkc.recipe.placeholders import fill


def words(text, name="recipe.yaml", **values):
    report = Report()
    document = read_document(name, text.encode(), report)
    assert document is not None, report.diagnostics
    built = json_words(Fields(document.root, "", report), "json_args")
    return [fill(word.parts, values) for word in built], report.diagnostics


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("{}", "{}"),
        ("[]", "[]"),
        ("{b: 1, a: [x, {c: d}]}", '{"b":1,"a":["x",{"c":"d"}]}'),
        ("0.90", "0.90"),
        ("1e-5", "1e-5"),
        ("-0", "-0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("true", "true"),
        ("[False, TRUE, ~, null]", "[false,true,null,null]"),
        ("'0.90'", '"0.90"'),
        ("007", '"007"'),
        ("+5", '"+5"'),
        (".5", '".5"'),
        ("0x1F", '"0x1F"'),
        ("NO", '"NO"'),
        ("2026-09-20", '"2026-09-20"'),
        ('"a\\"b\\\\c\\n"', '"a\\"b\\\\c\\n"'),
        ("日本", '"日本"'),
        ("{1: a, true: b}", '{"1":"a","true":"b"}'),
        ("'{{x}} {\"y\"} ${z}'", '"{{x}} {\\"y\\"} ${z}"'),
    ],
)
def test_yaml_becomes_compact_json_in_the_order_and_digits_written(yaml, expected):
    assert words(f"json_args: {{--flag: {yaml}}}") == (["--flag", expected], ())


def test_flags_keep_their_order():
    built, _ = words("json_args:\n  --b: 1\n  --a: 2\n")
    assert built == ["--b", "1", "--a", "2"]


def test_a_placeholder_stands_inside_a_string():
    built, _ = words('json_args: {--c: {model: "{model}/draft", n: 5}}', model="org/m")
    assert built[1] == '{"model":"org/m/draft","n":5}'


def test_toml_numbers_are_numbers_and_what_json_lacks_is_an_error():
    text = '[json_args.--c]\na = 0.90\nb = 1_000\nc = true\nd = "5"\ne = [1, 2]\n'
    assert words(text, "recipe.toml") == (["--c", '{"a":0.90,"b":1000,"c":true,"d":"5","e":[1,2]}'], ())
    _, found = words("[json_args.--c]\na = inf\nb = 2026-09-20\nc = 0x1F\n", "recipe.toml")
    assert [(d.code, d.span.line) for d in found] == [("SPK157", 2), ("SPK157", 3), ("SPK157", 4)]
    assert found[1].hint == 'write a decimal number, or quote it: "2026-09-20"'


strings = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="{}"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings.filter(lambda k: k != "<<"), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(values)
def test_any_json_value_survives(value):
    # JSON is YAML, but PyYAML reads no surrogate pairs: characters stay as they are.
    source = json.dumps({"json_args": {"--flag": value}}, ensure_ascii=False)
    report = Report()
    document = read_document("recipe.yaml", source.encode(), report)
    if document is None:  # characters or keys that a YAML file cannot hold
        return
    built = json_words(Fields(document.root, "", report), "json_args")
    assert fill(built[1].parts, {}) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
