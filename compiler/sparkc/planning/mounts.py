"""Bind mounts of a rank: the model and engine caches in the node's own home, the recipe's, and ``-v``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from sparkc.diagnostics import Related, Report
from sparkc.inventory.model import Inventory, Node
from sparkc.planning.model import Mount
from sparkc.planning.overrides import Overrides
from sparkc.recipe.model import MountSpec
from sparkc.traced import Traced, from_default, from_flag

_RESERVED = "/sparkc"  # where the rank folder is mounted

HUGGINGFACE = "huggingface"
# Cache name in the inventory → (default source, target). Kernels compiled at first start live in the engine
# caches: without them every start takes minutes longer.
CACHES: dict[str, tuple[Traced[str], Traced[str]]] = {
    name: (
        Traced(f"~/{path}", from_default(f"{name} cache", "kept on the node between starts")),
        Traced(f"/root/{path}", from_default(f"{name} cache", "where the container's root user keeps it")),
    )
    for name, path in {
        HUGGINGFACE: ".cache/huggingface",
        "vllm": ".cache/vllm",
        "flashinfer": ".cache/flashinfer",
        "b12x": ".cache/b12x",
        "triton": ".triton",
        "tilelang": ".tilelang",
    }.items()
}


def cache_mounts(node: Node, inventory: Inventory, *, engine_caches: bool) -> tuple[MountSpec, ...]:
    """Return the cache mounts of a node: the node's own source, else the inventory's, else under its home.

    ``root`` in ``caches`` is one folder for all engine caches, each below it under its own name. Weights stay
    out of it: they may be on a share, where caches of compiled kernels break.
    """
    specs = []
    for name, (default, target) in CACHES.items():
        if name != HUGGINGFACE and not engine_caches:
            continue
        source = _cache_source(name, node.caches) or _cache_source(name, inventory.caches) or default
        specs.append(MountSpec(source, target, create=True))
    return tuple(specs)


def _cache_source(name: str, caches: Mapping[str, Traced[str]]) -> Traced[str] | None:
    root = caches.get("root")
    if name in caches or root is None or name == HUGGINGFACE:
        return caches.get(name)
    return root.with_value(posixpath.join(root.value, name))


def volume_mounts(volumes: Iterable[str], report: Report) -> tuple[MountSpec, ...]:
    """Parse ``-v SRC:DST[:ro]``. SRC may hold colons: the target is what follows the last one."""
    specs = []
    for text in volumes:
        origin = from_flag(f"-v {text}")
        body, read_only = text, False
        for suffix in (":ro", ":rw"):
            if text.endswith(suffix) and ":" in text[: -len(suffix)]:
                body, read_only = text[: -len(suffix)], suffix == ":ro"
        source, colon, target = body.rpartition(":")
        if not colon or not source or not target:
            report.error("SPK340", f"-v {text}: not SRC:DST or SRC:DST:ro", hint="for example -v ~/models:/models:ro")
            continue
        specs.append(MountSpec(Traced(source, origin), Traced(target, origin), read_only))
    return tuple(specs)


def resolve(
    node: Node, defaults: Sequence[MountSpec], explicit: Sequence[MountSpec], report: Report
) -> tuple[Mount, ...]:
    """Return absolute mounts for one node. An explicit mount replaces a default one on the same target."""
    mounts: dict[str, Mount] = {}
    explicit_targets: set[str] = set()
    for spec, is_default in [*((spec, True) for spec in defaults), *((spec, False) for spec in explicit)]:
        source, target = _source(spec.source, node, report), spec.target if is_default else _target(spec.target, report)
        if source is None or target is None:
            continue
        if not is_default and target.value in explicit_targets:
            _report_collision(mounts[target.value], target, report)
            continue
        if not is_default:
            explicit_targets.add(target.value)
        earlier = mounts.get(target.value)
        traced = source.over(earlier.source if earlier is not None else None)
        mounts[target.value] = Mount(traced, target, spec.read_only, spec.create)
    return tuple(mounts.values())


def _report_collision(first: Mount, second: Traced[str], report: Report) -> None:
    span = first.target.origin.span
    report.error(
        "SPK341",
        f"two mounts on {second.value}, from {first.target.origin.text} and {second.origin.text};"
        " Compose would silently keep the last",
        second.origin.span,
        hint="remove one of them",
        related=[Related("the first one is here", span)] if span is not None else (),
    )


def _source(source: Traced[str], node: Node, report: Report) -> Traced[str] | None:
    path = source.value
    if path == "~" or path.startswith("~/"):
        path = node.home.value + path[1:]
    problem = None
    if not path:
        problem = "a mount needs a source"
    elif path.startswith("~"):
        problem = f"{path!r}: the home of another user is not known"
    elif not path.startswith("/"):
        problem = f"{path!r} is relative: on the node there is nothing that it could be relative to"
    elif ".." in path.split("/"):
        problem = f"{path!r} goes up through '..'"
    if problem is not None:
        report.error(
            "SPK342",
            f"mount source{_from_flag(source)}: {problem}",
            source.origin.span,
            hint="write an absolute path, or ~/… for the node's login home",
        )
        return None
    normal = _normal(path)
    return source if normal == source.value else source.with_value(normal)


def _from_flag(value: Traced[str]) -> str:
    return f" of {value.origin.text}" if value.origin.kind == "flag" else ""


def _normal(path: str) -> str:
    """Return one spelling of an absolute path; POSIX lets normpath keep two leading slashes."""
    return "/" + posixpath.normpath(path).lstrip("/")


def _target(target: Traced[str], report: Report) -> Traced[str] | None:
    path = target.value
    if not path.startswith("/") or ".." in path.split("/"):
        report.error(
            "SPK343",
            f"mount target {path!r}{_from_flag(target)} is not an absolute path",
            target.origin.span,
            hint="write the path inside the container, for example /models",
        )
        return None
    clean = _normal(path)
    if clean in ("/", _RESERVED) or clean.startswith(_RESERVED + "/"):
        report.error(
            "SPK344",
            f"mount target {clean}{_from_flag(target)} is taken: the rank folder is mounted at {_RESERVED}",
            target.origin.span,
            hint="choose another path",
        )
        return None
    return target.with_value(clean)


def explicit_mounts(recipe_mounts: Sequence[MountSpec], overrides: Overrides, report: Report) -> tuple[MountSpec, ...]:
    """Return the explicit mounts: the recipe's, then ``-v``."""
    return (*recipe_mounts, *volume_mounts(overrides.volumes, report))
