"""How many nodes a sparkrun recipe allows. The parallel sizes decide how many it takes."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.diagnostics import Related
from sparkc.reading.fields import Fields
from sparkc.record import dataclass
from sparkc.traced import Traced

_SIZES = ("tensor_parallel", "pipeline_parallel", "data_parallel")
_MODES = ("auto", "solo", "cluster")


@dataclass(frozen=True)
class NodeRange:
    """Whether the recipe refuses one node, or several."""

    cluster_only: Traced[bool] | None
    solo_only: Traced[bool] | None


def read_node_range(fields: Fields, values: Mapping[str, Traced[str]]) -> NodeRange:
    """Return the range that ``min_nodes``, ``max_nodes``, ``mode`` and the two older switches give.

    ``min_nodes`` is the least, not the count: sizes that need more than ``max_nodes`` are an error, as in sparkrun;
    sizes that need fewer than ``min_nodes`` a warning.
    """
    least, most = fields.integer("min_nodes", 1), fields.integer("max_nodes", 1)
    mode = fields.text("mode")
    cluster, solo = fields.boolean("cluster_only"), fields.boolean("solo_only")
    if mode is not None and mode.value not in _MODES:
        fields.report.error(
            "SPK031",
            f"mode is {mode.value!r}, but must be auto, solo or cluster",
            mode.origin.span,
            hint="remove mode, or write one of the three",
        )
    _check_sizes(fields, values, least, most)
    several = least.with_value(True) if least is not None and least.value > 1 else None
    single = most.with_value(True) if most is not None and most.value == 1 else None
    if mode is not None:
        several = mode.with_value(True) if mode.value == "cluster" else several
        single = mode.with_value(True) if mode.value == "solo" else single
    if cluster is not None and cluster.value:
        several = cluster
    if solo is not None and solo.value:
        single = solo
    if several is not None and single is not None:
        fields.report.error(
            "SPK150",
            "the recipe asks for several nodes and for one",
            several.origin.span,
            hint="remove one of min_nodes/cluster_only and max_nodes/solo_only",
            related=[Related("one node here", single.origin.span)] if single.origin.span is not None else [],
        )
        return NodeRange(None, None)
    return NodeRange(several, single)


def _check_sizes(
    fields: Fields, values: Mapping[str, Traced[str]], least: Traced[int] | None, most: Traced[int] | None
) -> None:
    sizes = {name: values[name] for name in _SIZES if name in values}
    if not all(size.value.isdecimal() and len(size.value) < 5 for size in sizes.values()):
        return  # the engine reports a size that is no number
    needed = 1
    for size in sizes.values():
        needed *= int(size.value)
    said = " × ".join(f"{name} {size.value}" for name, size in sizes.items() if size.value != "1")
    largest = next((size.origin.span for size in sizes.values() if size.value != "1"), None)
    related = [Related("the sizes are here", largest)] if largest is not None else []
    if most is not None and needed > most.value:
        fields.report.error(
            "SPK138",
            f"{said} needs {needed} nodes, but max_nodes allows {most.value}",
            most.origin.span,
            hint="lower the sizes in defaults, or raise max_nodes",
            related=related,
        )
    elif least is not None and sizes and 1 < needed < least.value:
        fields.report.warning(
            "SPK138",
            f"{said} needs {needed} nodes, fewer than min_nodes says; {needed} are taken",
            least.origin.span,
            hint="raise the sizes in defaults, or lower min_nodes",
            related=related,
        )
