"""Rules of thumb for what no formula gives: activations, CUDA graphs, the runtime, the host's own needs.

They are calibrated on reports of DGX Sparks in the field (docs/reference/fit.md names them) and
always shown as estimated.
"""

from __future__ import annotations

from sparkc.fit.model import GIB, Architecture, Line, Place
from sparkc.fit.serving import Serving

_MIB = 1 << 20
# Operating system, container runtime, and the engine's own processes in host memory: with 24 GiB outside of the
# engine's share, 15 stayed free (github.com/leo-dcfa/sparkrun-recipes, hy3-295b-nvfp4).
HOST = 9 * GIB
_RUNTIME_ALONE = 3 * GIB // 2  # CUDA context, kernels, attention workspace
_RUNTIME_GROUP = 5 * GIB // 2  # with NCCL's buffers
_ENCODER = GIB  # images of the profile run, and their cache


def activations(architecture: Architecture, serving: Serving, tensor: int) -> Line:
    """Return the peak of one forward pass over a full batch, with the logits of all sequences."""
    inner = 2 * architecture.intermediate / tensor
    if architecture.experts is not None:
        chosen = architecture.experts.per_token
        inner = max(inner, 2 * chosen * architecture.experts.intermediate / tensor) + chosen * architecture.hidden
    hidden = 2 * serving.batched * (6 * architecture.hidden + inner)
    logits = 8 * serving.sequences * architecture.vocabulary
    encoder = _ENCODER if architecture.multimodal and not serving.text_only else 0
    return Line(
        "activations",
        int(hidden + logits) + encoder,
        "estimated",
        f"batch of {serving.batched} tokens, logits of {serving.sequences} sequences"
        + (", image encoder" if encoder else ""),
        _place(serving.engine),
    )


def graphs(serving: Serving, layers: int) -> Line:
    """Return the memory of captured CUDA graphs: a fixed part, and 0.25 MiB for each layer and captured batch size."""
    place: Place = "beside" if serving.outside_graphs else "budget"
    if serving.eager:
        return Line("CUDA graphs", 0, "config", "none: the engine runs eagerly", place)
    lookahead = serving.speculation.tokens if serving.speculation is not None else 0
    largest = min(2 * serving.sequences * (1 + lookahead), 512)
    # vLLM captures 1, 2, 4, then every 8 up to 256, then every 16.
    sizes = 3 + min(largest, 256) // 8 + max(largest - 256, 0) // 16
    return Line("CUDA graphs", 256 * _MIB + sizes * layers * _MIB // 4, "estimated", f"{sizes} batch sizes", place)


def runtime(ranks: int, engine: str) -> Line:
    """Return what the engine's process holds on the GPU besides the model."""
    size, what = (_RUNTIME_GROUP, ", NCCL") if ranks > 1 else (_RUNTIME_ALONE, "")
    return Line("runtime", size, "estimated", f"CUDA context, workspaces{what}", _place(engine))


def host(architecture: Architecture, serving: Serving, *, head: bool) -> tuple[Line, ...]:
    """Return what the node needs outside of the engine's share; only rank 0 processes images and video."""
    lines = [Line("host", HOST, "estimated", "operating system, containers, the engine's own processes", "beside")]
    if head and architecture.multimodal and not serving.text_only and serving.processor_cache:
        size = int(serving.processor_cache * GIB)
        lines.append(
            Line("image cache", size, "config", f"--mm-processor-cache-gb {serving.processor_cache:g}", "beside")
        )
    return tuple(lines)


def _place(engine: str) -> Place:
    """SGLang's fraction bounds weights and cache only; vLLM's bounds everything on the GPU."""
    return "budget" if engine == "vLLM" else "beside"
