"""Why a recipe does not fit, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from sparkc.fit.model import GIB, RankFit
from sparkc.fit.serving import Serving


def gib(size: float) -> str:
    """Return a size in GiB."""
    return f"{size / GIB:.2f} GiB"


def problems(ranks: Sequence[RankFit], serving: Serving, length: int) -> tuple[str, ...]:
    """Return one sentence for each rank and reason."""
    found: list[str] = []
    for rank in ranks:
        where = f"rank {rank.rank} on {rank.node}"
        if rank.pool <= 0:
            found.append(f"{where}: the weights and what the engine needs exceed {serving.limit} by {gib(-rank.pool)}")
        elif serving.auto and rank.length == 0:
            found.append(f"{where}: the KV cache of {gib(rank.pool)} holds no sequence at all")
        elif not serving.auto and rank.sequence > rank.pool:
            found.append(
                f"{where}: one sequence of {length:,} tokens takes {gib(rank.sequence)} of KV cache, and there are "
                f"{gib(rank.pool)}"
            )
        if rank.left < 0:
            found.append(f"{where}: the sum is {gib(-rank.left)} more than its {gib(rank.memory)}")
    return tuple(found)


def advice(rank: RankFit, serving: Serving, length: int) -> tuple[str, ...]:
    """Return what would help the tightest rank, the smallest change first."""
    found: list[str] = []
    if 0 < rank.length < length:
        found.append(f"--max-model-len {rank.length} fits")
    missing = max(rank.sequence - rank.pool, 0)
    free = max(rank.left, 0)
    if missing and serving.cache is None and missing <= free:
        needed = rank.budget - max(rank.pool, 0) + rank.sequence
        if serving.reserve is not None:
            found.append(f"--gpu-memory-utilization-gb {ceil(needed / GIB * 10) / 10:.1f} fits")
        else:
            flag = "--gpu-memory-utilization" if serving.engine == "vLLM" else "--mem-fraction-static"
            found.append(f"{flag} {ceil(needed / rank.memory * 100) / 100:.2f} fits")
    if missing and serving.cache is not None and missing <= free:
        found.append(f"--kv-cache-memory-bytes {rank.sequence} fits")
    if rank.left < 0:
        found.append(
            f"lower the limit ({serving.limit.split(' ')[0]}) by {gib(-rank.left)}, or free memory on {rank.node}"
        )
    if not found:
        found.append("spread the model over more nodes, or take a smaller quantization")
    return tuple(found)
