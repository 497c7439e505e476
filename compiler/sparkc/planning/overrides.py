"""What the command line changes, as one record that a bundle keeps, so that ``--check`` can compile it again."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.planning.model import Json
from sparkc.record import dataclass

# Options that are not called like their field.
_OPTIONS = {"mods": "--mod", "volumes": "--volume", "jobs": "-j"}


@dataclass(frozen=True)
class Overrides:
    """Every option that changes a bundle's bytes; a field that was not given has its default value.

    Sizes in ``*_gb`` are decimal gigabytes as Docker's ``g`` means them (GiB). ``set`` and ``env`` are ordered
    pairs. ``ray`` is None unless ``--ray`` or ``--no-ray`` was given. ``nodes`` is the text after ``--nodes``.
    """

    nodes: str | None = None
    name: str | None = None
    image: str | None = None
    port: int | None = None
    host: str | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    gpu_mem: str | None = None
    max_model_len: str | None = None
    set: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    mods: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    publish: tuple[str, ...] = ()
    solo: bool = False
    ray: bool | None = None
    master_port: int | None = None
    earlyoom: bool = False
    earlyoom_args: str | None = None
    privileged: bool = False
    non_privileged: bool = False
    mem_limit_gb: int | None = None
    mem_swap_limit_gb: int | None = None
    shm_size_gb: int | None = None
    pids_limit: int | None = None
    nofile: int | None = None
    nccl_debug: str | None = None
    no_cache_dirs: bool = False
    keep_entrypoint: bool = False
    jobs: int | None = None
    user: str | None = None
    eth_if: str | None = None
    ib_if: str | None = None
    arguments: tuple[str, ...] = ()

    def record(self) -> dict[str, Json]:
        """Return the JSON object for ``bundle.json``: only what was given, lists for tuples."""
        # a field's default is the class attribute of its name
        return {
            name: _as_json(value)
            for name in self.__match_args__
            if (value := getattr(self, name)) != getattr(Overrides, name)
        }

    def options(self) -> tuple[str, ...]:
        """Return the words of a command line that gives these overrides."""
        words: list[str] = []
        for name in self.__match_args__:
            value = getattr(self, name)
            if value == getattr(Overrides, name) or name == "arguments":
                continue
            flag = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
            if isinstance(value, bool):
                words.append(flag if value else f"--no-{name}")
            elif isinstance(value, tuple):
                words += [word for item in value for word in (flag, item if isinstance(item, str) else "=".join(item))]
            else:
                words += [flag, str(value)]
        return (*words, "--", *self.arguments) if self.arguments else tuple(words)

    @classmethod
    def from_record(cls, record: Mapping[str, Json]) -> Overrides:
        """Return the overrides of a recorded bundle.

        Raises:
            ValueError: a key is unknown, or its value is not of the key's kind; the message names it.
        """
        kinds: Mapping[str, str] = cls.__annotations__
        for key, value in record.items():
            if key not in kinds:
                raise ValueError(f"{key} is no option that can be recorded")
            if not _fits(value, kinds[key]):
                raise ValueError(f"{key} does not have the form in which it is recorded")
        return cls(**{key: _from_json(value) for key, value in record.items()})  # type: ignore[arg-type]


def _fits(value: Json, kind: str) -> bool:
    """Tell whether a recorded value is of the kind that a field's annotation names."""
    if kind.startswith("tuple[tuple"):
        return isinstance(value, list) and all(
            isinstance(item, list) and len(item) == 2 and all(isinstance(text, str) for text in item) for item in value
        )
    if kind.startswith("tuple"):
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return type(value) is {"str": str, "int": int, "bool": bool}[kind.split(" |", maxsplit=1)[0]]


def _as_json(value: object) -> Json:
    return [_as_json(item) for item in value] if isinstance(value, tuple) else value  # type: ignore[return-value]


def _from_json(value: Json) -> object:
    return tuple(_from_json(item) for item in value) if isinstance(value, list) else value
