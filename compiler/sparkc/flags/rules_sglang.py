"""Rules about several flags of SGLang together; its own checks (``check_server_args``) leave some of them to a hang."""

from __future__ import annotations

from collections.abc import Callable

from sparkc.flags.situation import Situation

Rule = Callable[[Situation], None]


def memory_share(here: Situation) -> None:
    """SGLang does not check the range and fails when it allocates."""
    value = here.line.value("--mem-fraction-static")
    try:
        share = float(value.value) if value is not None else 0.5
    except ValueError:
        return
    if value is not None and not 0 < share < 1:
        here.findings.wrong(
            "SPK811",
            f"--mem-fraction-static must be between 0 and 1, got {value.value}",
            value,
            hint="write a fraction such as 0.85",
        )


def parallel_sizes(here: Situation) -> None:
    """The GPUs must fill the nodes evenly, and data parallelism over several nodes is attention's alone."""
    world = here.size("--tp-size") * here.size("--pp-size")
    if world % here.nnodes:
        here.findings.wrong(
            "SPK819",
            f"tp × pp = {world} does not divide by {here.nnodes} nodes",
            here.place("--tp-size" if here.line.last("--tp-size") is not None else "--pp-size")
            if here.line.uses and world > 1
            else here.line.words[0],
            hint="correct --tp-size or --pp-size",
        )
    data = here.given("--dp-size")
    attention = here.line.last("--enable-dp-attention") is not None
    if data is not None and data[1] > 1 and here.nnodes > 1 and not attention and here.version >= (0, 5, 23):
        here.findings.wrong(
            "SPK819",
            "SGLang refuses --dp-size above 1 on several nodes",
            data[0],
            hint="use --attn-dp-size",
        )


def pages(here: Situation) -> None:
    """SGLang refuses a chunk of prefill that is no whole number of pages."""
    chunk, page = here.given("--chunked-prefill-size"), here.given("--page-size")
    if chunk is not None and page is not None and chunk[1] > 0 < page[1] and chunk[1] % page[1]:
        here.findings.wrong(
            "SPK817",
            f"--chunked-prefill-size ({chunk[1]}) must be a multiple of --page-size ({page[1]})",
            chunk[0],
            hint="correct one of them",
        )


def served_name(here: Situation) -> None:
    """A colon separates a LoRA adapter in the name of a request's model, so SGLang refuses it in the server's."""
    value = here.line.value("--served-model-name")
    if value is not None and ":" in value.value:
        here.findings.wrong(
            "SPK817", f"SGLang refuses a colon in --served-model-name ({value.value})", value, hint="leave it out"
        )


RULES: tuple[Rule, ...] = (memory_share, parallel_sizes, pages, served_name)
