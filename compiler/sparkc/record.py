"""``@dataclass(frozen=True)`` for the records that pass between stages, without code generation.

The standard decorator writes and compiles methods for each class: 0.7 to 1 ms a class each time sparkc starts, and
with some sixty records a third of a cold compile. Here a class costs 15 µs, and an instance about the same. Type
checkers see the standard decorator; at run time ``dataclasses.fields``, ``replace`` and ``asdict`` work as ever. Only
what records here use is there: no inheritance between records, and no ``__post_init__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 - re-exported
    from dataclasses import field as field  # noqa: PLC0414
    from dataclasses import replace as replace  # noqa: PLC0414
else:

    def dataclass(*, frozen: bool) -> Any:
        """Return a decorator that makes a class a frozen dataclass, as ``dataclasses.dataclass(frozen=True)`` does."""
        if not frozen:
            message = "records between stages are frozen"
            raise TypeError(message)
        return _record

    def field(**options: Any) -> Any:
        """Declare a field with the ``default``, ``default_factory``, ``repr`` and ``compare`` of dataclasses.field."""
        return _Declared(options)

    def replace(record: Any, **changes: Any) -> Any:
        """Return a copy with some fields changed, as ``dataclasses.replace`` does, several times as fast."""
        values = record.__dict__
        return type(record)(**{name: values[name] for name in record.__match_args__} | changes)


class _Declared:
    """What ``field()`` was told about a field."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


class _Fields:
    """The description of the fields that the functions of dataclasses ask for, made when one of them does."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    def __get__(self, instance: object, owner: Any) -> Any:
        import dataclasses  # 1 ms that a compile does without

        body = {
            name: dataclasses.field(**value.options) if isinstance(value, _Declared) else value
            for name, value in self.body.items()
        }
        standard: Any = dataclasses.dataclass(type(owner.__name__, (), body))
        owner.__dataclass_fields__ = standard.__dataclass_fields__
        return owner.__dataclass_fields__


def _record(cls: Any) -> Any:
    if any("__dataclass_fields__" in vars(base) for base in cls.__bases__):
        message = f"{cls.__name__} inherits from a record, which only the standard dataclass can do"
        raise TypeError(message)
    names = tuple(cls.__annotations__)
    body = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    cls.__dataclass_fields__ = _Fields({"__annotations__": cls.__annotations__, **body})
    declared = {name: value.options for name, value in body.items() if isinstance(value, _Declared)}
    for name, options in declared.items():
        if "default" in options:
            body[name] = options["default"]
            setattr(cls, name, options["default"])
        else:
            del body[name]
            delattr(cls, name)
    factories = {name: options["default_factory"] for name, options in declared.items() if "default_factory" in options}
    cls.__match_args__ = names  # type: ignore[misc]
    cls.__init__ = _init(names, body, factories)
    cls.__setattr__ = _refuse_assignment
    cls.__delattr__ = _refuse_deletion
    compared = tuple(name for name in names if declared.get(name, {}).get("compare", True))
    shown = tuple(name for name in names if declared.get(name, {}).get("repr", True))
    cls.__eq__, cls.__hash__ = _comparison(compared)
    if "__repr__" not in cls.__dict__:
        cls.__repr__ = _repr(shown)
    return cls


def _init(names: tuple[str, ...], defaults: dict[str, Any], factories: dict[str, Any]) -> Any:
    count, known = len(names), frozenset(names)
    tail = () if factories else tuple(defaults.values())
    fewest = count - len(tail)

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:  # noqa: N807
        values = self.__dict__
        if not named and fewest <= len(arguments) <= count:  # nearly always
            values.update(zip(names, arguments + tail[len(arguments) - fewest :]))  # noqa: B905 - just compared
            return
        values.update(zip(names, arguments), **named)  # noqa: B905 - what zip drops is counted below
        given = len(values)
        if given < count:
            for name, default in defaults.items():
                values.setdefault(name, default)
            for name, make in factories.items():
                if name not in values:
                    values[name] = make()
        if len(values) != count or given != len(arguments) + len(named) or not known.issuperset(named):
            message = f"{type(self).__name__} takes {', '.join(names)}; got {arguments!r} and {named!r}"
            raise TypeError(message)

    return __init__


def _comparison(names: tuple[str, ...]) -> Any:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(mine[name] == theirs[name] for name in names)

    def __hash__(self: Any) -> int:  # noqa: N807
        values = self.__dict__
        return hash(tuple([values[name] for name in names]))

    return __eq__, __hash__


def _repr(names: tuple[str, ...]) -> Any:
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _refuse_assignment(_self: Any, name: str, _value: object) -> None:
    from dataclasses import FrozenInstanceError

    message = f"cannot assign to field {name!r}"
    raise FrozenInstanceError(message)


def _refuse_deletion(_self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    message = f"cannot delete field {name!r}"
    raise FrozenInstanceError(message)
