"""Patterns are compiled when they are first used, and behave as compiled ones."""

import re

import pytest

from sparkc.patterns import pattern


def test_it_does_what_the_compiled_one_does():
    word = pattern(r"(?P<first>[a-z])[a-z]*", re.IGNORECASE)
    assert word.fullmatch("Spark")["first"] == "S"
    assert word.fullmatch("spark 1") is None
    assert [match[0] for match in word.finditer("a bc")] == ["a", "bc"]
    assert word.sub("-", "a bc") == "- -"
    assert word.pattern == r"(?P<first>[a-z])[a-z]*"


def test_nothing_is_compiled_before_its_use():
    broken = pattern("(")
    with pytest.raises(re.error, match="unterminated subpattern"):
        broken.match("(")


def test_an_unknown_method_is_an_error():
    with pytest.raises(AttributeError, match="fulmatch"):
        pattern("a").fulmatch("a")
