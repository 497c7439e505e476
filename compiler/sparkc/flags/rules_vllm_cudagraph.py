"""CUDA graph capture sizes of vLLM, which stand in flags, in ``--compilation-config``, or in both."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.flags.situation import Situation
from sparkc.traced import Traced

_OPTION = "--compilation-config"


def capture_sizes(here: Situation) -> None:
    """The largest size of a list must equal the stated maximum, and should cover a full batch.

    vLLM drops sizes above ``--max-num-batched-tokens`` and raises ValueError where the largest that is left is not
    ``max_cudagraph_capture_size``; a batch above the maximum runs without a graph, many times slower on small GPUs.
    """
    sizes, at = _sizes(here)
    budget = here.given("--max-num-batched-tokens")
    kept = [size for size in sizes if budget is None or size <= budget[1]]
    maximum, maximum_at = _maximum(here)
    if kept and maximum is not None and max(kept) != maximum and at is not None:
        here.findings.wrong(
            "SPK821",
            f"the largest CUDA graph capture size is {max(kept)}, but max_cudagraph_capture_size says {maximum}:"
            " vLLM refuses that",
            maximum_at or at,
            hint=f"leave the maximum out, or write {max(kept)}",
        )
        return
    largest = max(kept) if kept else maximum
    place = at or maximum_at
    sequences = here.given("--max-num-seqs")
    if largest is None or place is None or sequences is None or here.line.switch("--enforce-eager") is not None:
        return
    drafts = here.config("--speculative-config").get("num_speculative_tokens")
    batch = sequences[1] * (1 + drafts if isinstance(drafts, int) and drafts > 0 else 1)
    if 0 < largest < batch:
        here.findings.note(
            "SPK821",
            f"CUDA graphs are captured up to {largest} tokens, and a full decode batch of {sequences[1]} sequences has"
            f" {batch}: larger batches run without graphs",
            place,
        )


def _sizes(here: Situation) -> tuple[Sequence[int], Traced[str] | None]:
    use = here.line.last("--cudagraph-capture-sizes")
    if use is not None:
        return [int(value.value) for value in use.values if value.value.isdecimal()], use.flag
    listed = here.config(_OPTION).get("cudagraph_capture_sizes")
    if not isinstance(listed, list):
        return [], None
    return [size for size in listed if isinstance(size, int)], here.place(_OPTION)


def _maximum(here: Situation) -> tuple[int | None, Traced[str] | None]:
    given = here.given("--max-cudagraph-capture-size")
    if given is not None:
        return given[1], given[0]
    configured = here.config(_OPTION).get("max_cudagraph_capture_size")
    return (configured, here.place(_OPTION)) if isinstance(configured, int) else (None, None)
