"""The templates' safety net: a value that nobody quoted is an error, and so is a name that nobody defined."""

import pytest
from jinja2 import DictLoader, UndefinedError

from sparkc.bundle.templates import environment


def render(text, **values):
    return environment(DictLoader({"t": text})).get_template("t").render(values)


@pytest.mark.parametrize("value", ["text", 1, True, None, 1.5, ["a"]])
def test_an_unquoted_value_is_rejected(value):
    with pytest.raises(TypeError, match="without a quoting filter"):
        render("a: {{ value }}", value=value)


@pytest.mark.parametrize("expression", ["(value | yq) ~ 'x'", "value | yq | upper", "value | sq | trim", "'constant'"])
def test_what_happens_after_quoting_undoes_it(expression):
    with pytest.raises(TypeError, match="without a quoting filter"):
        render("a: {{ " + expression + " }}", value="v")


def test_a_missing_name_is_rejected():
    with pytest.raises(UndefinedError, match="'value' is undefined"):
        render("{% if value %}a{% endif %}")


def test_template_text_and_quoted_values_pass():
    assert render("a: {{ value | yq }}\n", value="x$y") == 'a: "x$$y"\n'
