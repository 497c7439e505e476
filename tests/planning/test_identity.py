"""The one name of folder, project and container."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sparkc.planning.identity import identity
from support.compile_text import compile_text, native, v1

FORM = re.compile(r"[a-z0-9][a-z0-9_-]+")
NAMES = st.text(st.characters() | st.sampled_from("aA0-_. "), max_size=20)


@given(NAMES, st.none() | NAMES)
def test_every_name_becomes_one_that_compose_and_containers_take(name, inventory):
    assert FORM.fullmatch(identity(name, inventory))


@given(NAMES, NAMES)
def test_distinct_names_stay_distinct(left, right):
    # Four hex digits: names that differ only in what is replaced meet once in 65536.
    assert left == right or identity(left) != identity(right)


@given(st.from_regex(FORM, fullmatch=True))
def test_a_good_name_stays_as_it_is(name):
    assert identity(name) == name


def test_names():
    assert identity("qwen3.8") == "qwen3-8-3b4b"
    assert identity("qwen38") == "qwen38"
    assert identity("Qwen") != identity("qwen")
    assert FORM.fullmatch(identity("x"))
    assert identity("x") != "x"
    assert identity("demo", "lab") == "demo-lab"


def test_where_the_name_comes_from():
    assert compile_text(native()).plan.name == "demo"
    assert compile_text(native(), name="recipes/other.yaml").plan.name == "demo"
    assert compile_text(v1("vllm serve m"), name="recipes/my-model.yaml").plan.name == "my-model"
    assert compile_text(native(), chosen_inventory=True).plan.name == "demo-lab"
    assert compile_text(native(), bundle_name="mine", chosen_inventory=True).plan.name == "mine-lab"
