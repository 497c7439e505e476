"""The templates' safety net: a value that nobody quoted is an error, and so is a name that nobody defined."""

import pytest
from jinja2 import TemplateSyntaxError

from sparkc import prepared, resources
from sparkc.bundle.template_code import template_code
from sparkc.bundle.templates import render_template


@pytest.fixture
def render(tmp_path, monkeypatch):
    """Return a function that renders a template's text with values."""
    monkeypatch.setattr(resources, "folder", lambda kind: tmp_path)

    def from_text(text, **values):
        name = f"{abs(hash(text))}.j2"  # compiled once per name
        (tmp_path / name).write_text(text, encoding="utf-8")
        return render_template(name, values)

    return from_text


@pytest.mark.parametrize("value", ["text", 1, True, None, 1.5, ["a"]])
def test_an_unquoted_value_is_rejected(render, value):
    with pytest.raises(TypeError, match="without a quoting filter"):
        render("a: {{ value }}", value=value)


@pytest.mark.parametrize("expression", ["(value | yq) ~ 'x'", "(value | yq).upper()", "(value | sq)[1:]", "'constant'"])
def test_what_happens_after_quoting_undoes_it(render, expression):
    with pytest.raises(TypeError, match="without a quoting filter"):
        render("a: {{ " + expression + " }}", value="v")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{% if value %}a{% endif %}", KeyError),
        ("{{ known.value | yq }}", AttributeError),
        ("{% for item in known %}{% endfor %}{{ item | yq }}", KeyError),
        ("{{ ('a' if known == 'b') | yq }}", NameError),
    ],
)
def test_a_missing_name_is_rejected(render, text, error):
    with pytest.raises(error):
        render(text, known="k")


def test_template_text_and_quoted_values_pass(render):
    assert render("a: {{ value | yq }}\n", value="x$y") == 'a: "x$$y"\n'


def test_what_templates_may_use(render):
    text = (
        "{% for key, value in items.items() %}{% set shown = key ~ '=' ~ value %}\n"
        "{% if value is none %}-{% elif value > 1 %}{{ shown | sq }}{% else %}{{ items[key] | typed }}{% endif %}\n"
        "{% else %}none{% endfor %}"
    )
    assert render(text, items={"a": None, "b": 1, "c": 2}) == "-1'c=2'"
    assert render(text, items={}) == "none"


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("{% for a in b %}{{ loop.index | typed }}{% endfor %}", "LoopContext"),
        ("{% macro m() %}{% endmacro %}", "Macro"),
        ("{% set a = b %}", "vars"),
        ("{% set n = namespace() %}{{ n | yq }}", "vars"),
        ("{% include 'a' %}", "get_template"),
        ("{% filter md %}a{% endfilter %}{% block a %}{% endblock %}", "blocks"),
    ],
)
def test_what_our_runtime_lacks_is_refused_when_a_template_is_compiled(text, foreign):
    with pytest.raises(ValueError, match=f"the template t uses .*{foreign}"):
        template_code(text, "t")


def test_filters_of_jinja_are_refused():
    with pytest.raises(TemplateSyntaxError, match="No filter named 'upper'"):
        template_code("{{ value | upper | yq }}", "t")


def test_every_template_is_prepared_and_fresh():
    folder = resources.folder("templates")
    for path in folder.rglob("*.j2"):
        name = path.relative_to(folder).as_posix()
        text = resources.read_text("templates", name)
        made = prepared.template(name, text)
        assert made is not None, "make .venv/.ready prepares the templates again"
        assert made.__module__.endswith(prepared.template_module(name))
