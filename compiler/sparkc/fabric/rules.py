"""What a topology asks of the recipe and of everyone who sets the environment, and the check that they comply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.engines.base import World
from sparkc.record import dataclass, field
from sparkc.traced import Origin, Traced

_NCCL_HCA = "https://github.com/NVIDIA/nccl/blob/master/src/transport/net_ib/init.cc"

# Not in NCCL's sources (searched at 2.30.7): only the NCCL in SparkRing's images reads them.
PATCHED_NCCL_KEYS = frozenset(
    {
        "NCCL_IB_EXTENDED_IPV4_GIDS",
        "NCCL_IB_PRESERVE_PCI_DOMAIN",
        "NCCL_IB_ROUTE_DIAGNOSTICS",
        "NCCL_LOCAL_INFERENCE_PATH",
        "NCCL_SKIP_TREE_CONNECT",
        "NCCL_SWITCHLESS_RING_ONLY",
    }
)
_OFF = ("", "0")
_ROCE = "VLLM_ENABLE_ROCE_ALLREDUCE"
_PEER_MAPS = ("B12X_ROCE_PEER_HCA_MAP", "B12X_ROCE_PEER_HCA_MAPS")
_ROCE_HCA = "B12X_ROCE_HCA"


@dataclass(frozen=True)
class Rules:
    """A topology's demands, which hold where several ranks serve.

    ``required``: a variable that is set must have this value. ``unread``: variables that the image's NCCL does not
    know and ignores without a word. ``tensor_parallel_only``: ranks exchange activations along the cables only, so
    pipeline and data parallel and ``refused_engines`` (which connect any node to any other) are out.
    """

    required: Mapping[str, str] = field(default_factory=dict)
    unread: frozenset[str] = PATCHED_NCCL_KEYS
    tensor_parallel_only: bool = False
    refused_engines: frozenset[str] = frozenset()


def check_serving(topology: str, rules: Rules, engine: Traced[str], world: World, report: Report) -> None:
    """Report an engine or parallel sizes of several ranks that the topology does not carry."""
    if engine.value in rules.refused_engines:
        report.error(
            "SPK410",
            f"topology {topology!r} does not carry engine {engine.value}: its nodes reach their neighbours only",
            engine.origin.span,
            hint="use `engine: vllm`, without --ray",
        )
    if not rules.tensor_parallel_only:
        return
    for what, size in (("pipeline", world.pipeline), ("data", world.data)):
        if size.value > 1:
            report.error(
                "SPK410",
                f"topology {topology!r} carries tensor parallel only, but the {what} parallel size is {size.value}",
                size.origin.span,
                hint=f"make the tensor parallel size {world.size} and leave the {what} parallel size at 1",
            )


def check_environment(
    topology: str,
    rules: Rules,
    final: Sequence[Mapping[str, Traced[str]]],
    given: Iterable[Mapping[str, Traced[str | None]]],
    declared: Collection[str],
    report: Report,
) -> None:
    """Report values in the environments of several ranks that the topology or the image cannot use.

    ``final`` are the ranks' environments, ``given`` the layers that the user wrote, ``declared`` the keys of the
    recipe's ``deviations``: a deviation turns an ignored variable from an error into a warning.
    """
    layers = list(given)
    for key, wanted in rules.required.items():
        for value, origin in _values(key, final, layers):
            if value != wanted:
                report.error(
                    "SPK411",
                    f"{topology} topology requires {key}={wanted}, not {'no value' if value is None else repr(value)}",
                    origin.span,
                    hint=f"remove {key}; sparkc sets what the topology needs",
                )
    for key in sorted(rules.unread):
        for value, origin in _values(key, final, []):
            if value in _OFF:
                continue
            deviates = f"env.{key}" in declared
            tell = report.warning if deviates else report.error
            tell(
                "SPK412",
                f"{key} does nothing in this image: only the NCCL of SparkRing's images reads it",
                origin.span,
                hint="keep it if the image is built from one of SparkRing's"
                if deviates
                else f"remove {key}; for an image built from one of SparkRing's, declare it in the recipe:"
                f" `deviations: [{{key: env.{key}, reason: …}}]`",
            )
    for value, origin in _values("NCCL_IB_HCA", final, []):
        if value and not value.startswith(("=", "^")):
            report.warning(
                "SPK413",
                f"NCCL_IB_HCA {value!r} has no leading =: NCCL takes every HCA whose name starts like one of the list",
                origin.span,
                hint=f"write ={value}, or remove it: sparkc lists each node's HCAs ({_NCCL_HCA})",
            )
    _check_roce(final, report)


def _check_roce(final: Sequence[Mapping[str, Traced[str]]], report: Report) -> None:
    """Warn where the all-reduce over RoCE would have to guess which HCA leads to which rank.

    Without a map b12x uses the only two HCAs for every peer, and refuses to start with more. Which ones it finds is
    the recipe's to say (``B12X_ROCE_HCA``); else it takes all that are active, which depends on the cables plugged in.
    """
    lacking: dict[Origin, list[int]] = {}
    for rank, env in enumerate(final):
        on = _ROCE in env and env[_ROCE].value.lower() in ("1", "true")
        listed = env[_ROCE_HCA].value.split(",") if _ROCE_HCA in env else []
        if on and len(listed) != 2 and not any(key in env and env[key].value for key in _PEER_MAPS):
            lacking.setdefault(env[_ROCE].origin, []).append(rank)
    for origin, ranks in lacking.items():
        where = "any rank" if len(ranks) == len(final) else f"rank {', '.join(map(str, ranks))}"
        report.warning(
            "SPK417",
            f"{_ROCE} is on, but no {_PEER_MAPS[0]} reaches {where}: the all-reduce takes every HCA that is active, and"
            " does not start where there are more than two",
            origin.span,
            hint=f"set {_ROCE_HCA} to the two HCAs of the cable, or {_PEER_MAPS[0]} under each node's `env`; or set"
            f" {_ROCE} to 0, which leaves it to NCCL",
        )


def _values(
    key: str, final: Sequence[Mapping[str, Traced[str]]], given: Sequence[Mapping[str, Traced[str | None]]]
) -> list[tuple[str | None, Origin]]:
    """Return the distinct values of ``key`` with their origins; None where a layer of ``given`` removed it."""
    removals = [layer[key] for layer in given if key in layer and layer[key].value is None]
    found: dict[tuple[str | None, Origin], None] = {}
    for env in final:
        if key in env:
            found[env[key].value, env[key].origin] = None
        elif removals:
            found[None, removals[-1].origin] = None
    return list(found)
