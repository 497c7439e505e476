"""Records behave as frozen dataclasses; the standard decorator is the measure."""

import copy
import dataclasses

import pytest

from sparkc.record import dataclass, field, replace


@dataclass(frozen=True)
class Point:
    """A record with each kind of field."""

    x: int
    y: int = 0
    tags: tuple[str, ...] = ()
    extra: dict[str, int] = field(default_factory=dict)
    note: str = field(default="", repr=False, compare=False)

    @property
    def total(self):
        return self.x + self.y


@dataclasses.dataclass(frozen=True)
class Standard:
    x: int
    y: int = 0
    tags: tuple[str, ...] = ()
    extra: dict[str, int] = dataclasses.field(default_factory=dict)
    note: str = dataclasses.field(default="", repr=False, compare=False)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1,), {}),
        ((1, 2), {"note": "n"}),
        ((), {"y": 3, "x": 1}),
        ((1, 2, ("a",), {"k": 1}, "n"), {}),
    ],
)
def test_construction_as_with_the_standard_decorator(arguments, named):
    made, standard = Point(*arguments, **named), Standard(*arguments, **named)
    assert dataclasses.asdict(made) == dataclasses.asdict(standard)
    assert repr(made) == repr(standard).replace("Standard", "Point")
    assert made.total == made.x + made.y


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), {}),
        ((), {"y": 1}),
        ((1, 2, (), {}, "", "one too many"), {}),
        ((1,), {"x": 2}),
        ((1,), {"z": 2}),
        ((), {"z": 2, "y": 1}),
        ((1, 2, (), {}), {"z": 2}),
    ],
)
def test_what_the_standard_decorator_refuses(arguments, named):
    with pytest.raises(TypeError):
        Standard(*arguments, **named)
    with pytest.raises(TypeError, match="Point takes x, y, tags, extra, note; got"):
        Point(*arguments, **named)


def test_a_record_cannot_be_changed():
    point = Point(1)
    for name in ("x", "note", "unknown"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            setattr(point, name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            delattr(point, name)
    assert point == Point(1)


def test_equality_and_hash_follow_the_compared_fields():
    @dataclass(frozen=True)
    class Pair:
        a: int
        b: int = field(default=0, compare=False)

    @dataclass(frozen=True)
    class Other:
        a: int
        b: int = 0

    assert Pair(1, 2) == Pair(1, 3)
    assert hash(Pair(1, 2)) == hash(Pair(1, 3))
    assert Pair(1) != Pair(2)
    assert Pair(1) != Other(1)
    assert Pair(1) != 1
    assert len({Pair(1, 2), Pair(1, 3), Pair(2)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))  # its `extra` is a dict


def test_each_record_gets_its_own_default():
    assert Point(1).extra is not Point(1).extra


def test_replace_checks_names_and_copies_fields_only():
    point = Point(1, 2, extra={"k": 1}, note="n")
    point.__dict__["cached"] = "as functools.cached_property does"
    for function in (replace, dataclasses.replace):
        assert function(point, y=5) == Point(1, 5, (), {"k": 1})
        assert function(point, y=5).note == "n"
        assert "cached" not in function(point).__dict__
        with pytest.raises(TypeError):
            function(point, z=1)


def test_the_fields_as_dataclasses_sees_them():
    shape = [(f.name, f.type, f.default, f.default_factory, f.repr, f.compare) for f in dataclasses.fields(Point)]
    standard = [(f.name, f.type, f.default, f.default_factory, f.repr, f.compare) for f in dataclasses.fields(Standard)]
    assert shape == standard
    assert dataclasses.is_dataclass(Point)
    assert Point.__match_args__ == Standard.__match_args__
    assert Point.y == Standard.y
    assert not hasattr(Point, "extra")


def test_copies_are_equal():
    point = Point(1, extra={"k": 1})
    assert copy.copy(point) == copy.deepcopy(point) == point


def test_a_method_of_its_own_stays():
    @dataclass(frozen=True)
    class Named:
        name: str

        def __repr__(self):
            return "mine"

    assert repr(Named("n")) == "mine"


def test_only_frozen_records_without_inheritance():
    with pytest.raises(TypeError, match="frozen"):
        dataclass(frozen=False)
    with pytest.raises(TypeError, match="inherits from a record"):

        @dataclass(frozen=True)
        class Derived(Point):
            z: int = 0
