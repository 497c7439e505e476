"""A sparkrun recipe as a difference to another file in its folder."""

import pytest

from sparkc.diagnostics import Report
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Text
from sparkc.recipe.placeholders import fill_word

BASE = """\
model: org/base
runtime: vllm
container: img:1
min_nodes: 2
mods: [a, b]
metadata: {description: base, source: s}
defaults:
  port: 8000
  spec: {method: mtp, n: 3}
  gone: 1
env: {A: "1", B: "2"}
command: vllm serve {model} --port {port} '{spec}'
"""


def read(text, name="recipes/outer.yaml", **files):
    report = Report()
    asked = []

    def read_sibling(sibling):
        asked.append(sibling)
        content = files.get(sibling.rpartition(".")[0])
        return content.encode() if content is not None and sibling.endswith(".yaml") else None

    return read_recipe_file(name, text.encode(), report, read_sibling), report, asked


def argv(recipe):
    values = {name: value.value for name, value in recipe.defaults.items()}
    return [item for word in recipe.command.words for item in fill_word(word, values, Report())]


def test_what_the_outer_recipe_says_goes_over_the_base():
    recipe, report, asked = read(
        "include: base\nmodel: org/outer\nmods: [c]\nmin_nodes: null\nmetadata: {description: outer}\n"
        "defaults: {port: 9000, spec: {method: x}, gone: null}\nenv: {B: null, C: '3'}\n",
        base=BASE,
    )
    assert report.diagnostics == ()
    assert asked == ["base.yaml"]
    assert argv(recipe) == ["vllm", "serve", "org/outer", "--port", "9000", '{"method":"x"}']
    assert [mod.value for mod in recipe.mods] == ["c"]
    assert (recipe.cluster_only, recipe.description, recipe.notes) == (None, "outer", {"source": "s"})
    assert {key: value.value for key, value in recipe.env.items()} == {"A": (Text("1"),), "C": (Text("3"),)}
    assert "gone" not in recipe.defaults
    assert (recipe.base_name.value, recipe.source.name) == ("outer", "recipes/outer.yaml")
    # Each value is traced to the file that it stands in.
    assert recipe.image.origin.span.source.name == "recipes/base.yaml"
    assert recipe.model.origin.span.source.name == "recipes/outer.yaml"


def test_a_base_may_include_another_one_and_overrides_add_up():
    _, report, asked = read(
        "include: one.yaml\noverrides: [{when: {tp: 2}}]\n",
        one="include: base\nmodel: org/one\noverrides: [{when: {tp: 1}}]\n",
        base=BASE,
    )
    assert asked == ["one.yaml", "base.yaml"]
    assert [item.code for item in report.diagnostics] == ["SPK143"]


def test_a_recipe_in_a_folder_of_its_own_has_no_prefix():
    recipe, _, _ = read("include: base\n", name="outer.yaml", base=BASE)
    assert recipe.image.origin.span.source.name == "base.yaml"


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("'@official/x'", "lies in a registry"),
        ("../x", "not the name of a file in the same folder"),
        ("/etc/passwd", "not the name of a file in the same folder"),
        ("[a, b]", "the name of one file"),
        ("missing", "there is no recipe 'missing'"),
        ("outer", "includes itself: recipes/outer.yaml → recipes/outer.yaml"),
    ],
)
def test_unusable_includes_are_located(include, message):
    recipe, report, asked = read(f"model: m\ninclude: {include}\n", outer=BASE)
    assert recipe is None
    (item,) = report.diagnostics
    assert (item.code, str(item.span)) == ("SPK137", "recipes/outer.yaml:2:10")
    assert message in item.message
    assert item.hint
    assert asked == (["missing.yaml", "missing.yml"] if include == "missing" else [])


def test_includes_end_after_eight():
    files = {f"f{number}": f"include: f{number + 1}\n" for number in range(12)}
    _, report, asked = read("include: f0\n", **files)
    assert [item.code for item in report.diagnostics] == ["SPK137"]
    assert len(asked) == 8
    assert "more than 8 recipes" in report.diagnostics[0].message


def test_without_a_folder_nothing_can_be_included():
    report = Report()
    assert read_recipe_file("a.yaml", b"include: base\n", report) is None
    assert [item.code for item in report.diagnostics] == ["SPK137"]


def test_errors_of_the_base_stand_in_the_base():
    _, report, _ = read("include: base\n", base="a: [")
    assert report.failed
    assert report.diagnostics[0].span.source.name == "recipes/base.yaml"


def test_native_recipes_include_nothing():
    _, report, asked = read("sparkc: 1\nname: aa\nengine: vllm\nimage: i\nmodel: m\ninclude: base\n", base=BASE)
    assert asked == []
    assert "SPK020" in [item.code for item in report.diagnostics]
