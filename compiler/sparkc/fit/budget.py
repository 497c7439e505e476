"""The sum: what every rank holds, and how many tokens its cache then has room for."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.engines.base import World
from sparkc.fit import estimates
from sparkc.fit.advice import advice, problems
from sparkc.fit.cache import CacheRules, Pool, Slot, pool, slot_of
from sparkc.fit.config import ConfigFault
from sparkc.fit.layers import draft_layer
from sparkc.fit.model import GIB, Basis, Fit, Layer, Line, Model, RankFit
from sparkc.fit.serving import Serving
from sparkc.fit.weights import Parts, key_value_heads, parts_of, stage_weights
from sparkc.reading.source import Span
from sparkc.record import dataclass

# Of the 128 GB of a DGX Spark, CUDA reports this much.
SPARK_MEMORY = 119.7
_MOST_MEMORY = 1e6  # GiB; keeps a slip in the inventory from overflowing a number


@dataclass(frozen=True)
class NodeMemory:
    """A node's name, and its shared memory in GiB; None where the inventory does not say it."""

    name: str
    memory: float | None


@dataclass(frozen=True)
class Task:
    """What is to be summed up. ``draft`` is a draft model of its own, where the command names one."""

    model: Model
    draft: Model | None
    serving: Serving
    world: World
    nodes: tuple[NodeMemory, ...]


def fit(task: Task, at: Span | None, report: Report) -> Fit | None:
    """Return the sum for every rank, or None after an error. ``at`` is the model's place in the recipe."""
    length = _max_length(task)
    if length is None:
        report.error(
            "SPK722",
            f"{task.model.name} does not say its largest context",
            at,
            hint="add --max-model-len to the recipe, or max_position_embeddings to the model's facts",
        )
        return None
    try:
        ranks = tuple(_rank(task, number, length) for number in range(len(task.nodes)))
    except ConfigFault as fault:
        report.error(
            "SPK722",
            f"{task.model.name} {fault}",
            at,
            hint=fault.hint,
        )
        return None
    tightest = min(ranks, key=lambda rank: (rank.length, rank.tokens, rank.left))
    found = problems(ranks, task.serving, length)
    measured = task.model.token_size is not None
    return Fit(
        ranks=ranks,
        tightest=tightest,
        limit=task.serving.limit,
        max_length=tightest.length if task.serving.auto else length,
        sequences=task.serving.sequences,
        cache=task.serving.cache_type,
        cache_basis="measured" if measured else "config" if task.serving.engine == "vLLM" else "estimated",
        problems=found,
        advice=advice(tightest, task.serving, length) if found else (),
    )


def stages(layers: int, count: int) -> tuple[range, ...]:
    """Return the layers of each of ``count`` pipeline stages as vLLM places them.

    What does not divide goes to the stages before the last, which has the output head
    (vllm/distributed/utils.py, get_pp_indices).
    """
    sizes = [layers // count] * count
    for index in range(2, layers % count + 2):
        sizes[-index] += 1
    starts = [sum(sizes[:index]) for index in range(count)]
    return tuple(range(start, start + size) for start, size in zip(starts, sizes, strict=True))


def _max_length(task: Task) -> int | None:
    return task.serving.length or task.model.architecture.max_length


def _rank(task: Task, number: int, length: int) -> RankFit:
    world, serving, architecture = task.world, task.serving, task.model.architecture
    tensor, count = world.tensor.value, world.pipeline.value
    per_node = max(1, world.size // len(task.nodes))
    stage = (number * per_node // tensor) % count
    layers, last = stages(len(architecture.layers), count)[stage], stage == count - 1
    node = task.nodes[number]
    memory = int(min(node.memory if node.memory is not None else SPARK_MEMORY, _MOST_MEMORY) * GIB) // per_node
    parts = parts_of(task.model.checkpoint, architecture)
    weights = stage_weights(
        parts,
        layers,
        architecture,
        tensor,
        world.data.value,
        first=stage == 0,
        last=last,
        whole_encoder=serving.whole_encoder,
    )
    lines = (
        Line("weights", weights, parts.basis, parts.formula),
        *(_draft_lines(task, parts) if last else ()),
        estimates.activations(architecture, serving, tensor),
        estimates.graphs(serving, len(layers)),
        estimates.runtime(world.size, serving.engine),
        *estimates.host(architecture, serving, head=number == 0),
    )
    kept = _pool(task, parts, layers, last=last)
    size, basis, formula = _limit(serving, memory, lines)
    sequence = _sequence(task, kept, length)
    return RankFit(
        rank=number,
        node=node.name,
        memory=memory,
        memory_from="the inventory" if node.memory is not None else "a DGX Spark's 128 GB",
        layers=len(layers),
        lines=lines,
        pool=size,
        pool_basis=basis,
        pool_formula=formula,
        token=kept.token if task.model.token_size is None else float(task.model.token_size),
        fixed=kept.fixed if task.model.token_size is None else 0,
        sequence=sequence,
        tokens=max(size, 0) * length // sequence if sequence else length,
        length=_longest(task, kept, size, length),
    )


def _limit(serving: Serving, memory: int, lines: Sequence[Line]) -> tuple[int, Basis, str]:
    """Return the size of the cache's pool. All limits bound the budget's lines and the pool together, but bytes."""
    if serving.cache is not None:
        return serving.cache, "config", serving.limit
    budget = serving.reserve if serving.reserve is not None else int((serving.fraction or 0) * memory)
    taken = sum(line.size for line in lines if line.place == "budget")
    return budget - taken, "estimated", f"what {serving.limit} leaves of {budget / GIB:.2f} GiB"


def _draft_lines(task: Task, parts: Parts) -> tuple[Line, ...]:
    """Return the draft's weights on a rank, and what stays mapped of the files it was read from.

    A safetensors file is mapped whole, and a draft inside the model's checkpoint takes only a few of its tensors. The
    rest is page cache: it counts as used in some tools, but the kernel drops it when memory is short.
    """
    speculation = task.serving.speculation
    if speculation is None:
        return ()
    world, architecture = task.world, task.model.architecture
    tensor = speculation.tensor or world.tensor.value
    if task.draft is not None:
        own = task.draft.architecture
        its = parts_of(task.draft.checkpoint, own)
        size = stage_weights(its, range(len(own.layers)), own, tensor, 1, first=True, last=True)
        line = Line(f"draft ({speculation.method})", size, its.basis, f"{task.draft.name}, {its.formula}")
        on_disk = task.draft.checkpoint.total
    else:
        size = int(parts.draft.per_rank(tensor, world.data.value, key_value_heads(architecture)))
        found = bool(architecture.draft_layers) or parts.draft.total > 0
        source = "prediction layers inside the checkpoint" if found else "config.json names no prediction layers"
        line = Line(f"draft ({speculation.method})", size, parts.basis, source)
        on_disk = task.model.checkpoint.total
    if not speculation.mapped:
        return (line,)
    rest = Line(
        "draft, mapped", max(on_disk - size, 0), line.basis, "page cache of its files, reclaimable", "reclaimable"
    )
    return (line, rest)


def _pool(task: Task, parts: Parts, layers: range, *, last: bool) -> Pool:
    architecture, serving, tensor = task.model.architecture, task.serving, task.world.tensor.value
    speculation = serving.speculation
    rules = CacheRules(
        cache_type=serving.cache_type,
        element=architecture.element_size,
        cache_bits=architecture.quantization.cache_bits,
        block=serving.block,
        batched=serving.batched,
        lookahead=speculation.tokens if speculation is not None else 0,
        prefix_caching=serving.prefix_caching,
        state_size=serving.state_size,
    )
    kept: list[tuple[Layer, int]] = [(architecture.layers[number], tensor) for number in layers]
    if last and speculation is not None:
        if task.draft is not None:
            own = task.draft.architecture.layers
        else:  # Qwen3-Next has prediction layers, in fact one, that its config.json does not mention
            unsaid = (draft_layer(architecture.layers),) if parts.draft.total else ()
            own = architecture.draft_layers or unsaid
        kept += [(layer, speculation.tensor or tensor) for layer in own]
    slots: list[Slot] = []
    for layer, ranks in kept:
        slot = slot_of(layer, ranks, rules)
        if slot is not None:
            slots.append(slot)
    return pool(slots, rules)


def _sequence(task: Task, kept: Pool, length: int) -> int:
    """Return one sequence's bytes; decode context parallelism spreads its tokens over ranks."""
    share = -(-length // task.serving.context_parallel)
    return kept.sequence(share) if task.model.token_size is None else task.model.token_size * share


def _longest(task: Task, kept: Pool, size: int, length: int) -> int:
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _sequence(task, kept, middle) <= size else (low, middle - 1)
    return low
