"""Container settings that contradict each other, or that Docker would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.diagnostics import Report
from sparkc.engines.serving import is_loopback, is_port
from sparkc.planning.model import Container, Mod
from sparkc.planning.overrides import Overrides
from sparkc.planning.sizes import in_bytes
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced


def check_container(
    recipe: Recipe,
    overrides: Overrides,
    mods: Sequence[Mod],
    planned: Container,
    *,
    solo: bool,
    api_host: Traced[str],
    report: Report,
) -> None:
    """Report settings that contradict each other. ``planned`` is rank 0's, ``api_host`` what the engine binds to."""
    keeps = planned.keep_entrypoint
    earlyoom = recipe.earlyoom is not None or overrides.earlyoom or overrides.earlyoom_args is not None
    if keeps.value and earlyoom:
        report.error(
            "SPK350",
            "earlyoom and a kept entrypoint exclude each other",
            keeps.origin.span,
            hint="drop --keep-entrypoint (entrypoint: keep) or earlyoom: launch.sh starts the watchdog",
        )
    if keeps.value and any(mod.files for mod in mods):
        report.warning(
            "SPK351",
            "the image's entrypoint runs before the mods and must execute its arguments",
            keeps.origin.span,
            hint="drop --keep-entrypoint unless the image needs it",
        )
    if overrides.privileged and overrides.non_privileged:
        report.error("SPK352", "--privileged and --non-privileged exclude each other", hint="keep one of them")
    asking = [mod for mod in mods if "privileged" in mod.requires]
    if overrides.non_privileged and asking:
        report.error(
            "SPK353",
            f"mod {asking[0].name} needs a privileged container",
            asking[0].reference.origin.span,
            hint="drop --non-privileged, or the mod",
        )
    _check_limits(planned, overrides, report)
    _check_publish(overrides, solo=solo, report=report)
    if is_loopback(api_host.value):
        _report_loopback(recipe, overrides, api_host, report)


def _check_limits(planned: Container, overrides: Overrides, report: Report) -> None:
    if planned.ipc_host.value and overrides.shm_size_gb is not None:
        report.error(
            "SPK358",
            "--shm-size-gb has no effect where the container shares the host's IPC namespace",
            planned.ipc_host.origin.span,
            hint="drop --shm-size-gb, or what asks for the host's IPC (--privileged, container.ipc: host)",
        )
    memory, swap = planned.memory, planned.memory_swap
    if swap is not None and (memory is None or in_bytes(swap.value) < in_bytes(memory.value)):
        what = "without a memory limit" if memory is None else f"below the memory limit of {memory.value}"
        report.error(
            "SPK359",
            f"a limit of memory and swap of {swap.value} {what}: Docker refuses it",
            swap.origin.span,
            hint="--mem-swap-limit-gb counts memory and swap together; set --mem-limit-gb to at most that",
        )


def _check_publish(overrides: Overrides, *, solo: bool, report: Report) -> None:
    if overrides.publish and not solo:
        report.error(
            "SPK354",
            "-p publishes a port of one container; in a cluster the ranks need host networking",
            hint="remove -p, or compile with --solo",
        )
    for text in overrides.publish:
        if not _is_publish(text):
            report.error("SPK356", f"-p {text}: not HOST:CONTAINER", hint="for example -p 9000:8000")


def _report_loopback(recipe: Recipe, overrides: Overrides, host: Traced[str], report: Report) -> None:
    """Warn that clients do not reach the API, whether the command says so or the engine's default."""
    unless_told = " unless told" if host.origin.kind == "default" else ""
    listens = f"{recipe.engine.value} listens on {host.value}{unless_told}"
    at = host.origin.span or recipe.engine.origin.span
    if overrides.publish:
        report.warning(
            "SPK355",
            f"{listens}, inside the container: a published port does not reach it",
            at,
            hint="set --host 0.0.0.0",
        )
    else:
        report.warning(
            "SPK315",
            f"{listens}: only programs on its own node reach the API",
            at,
            hint="add --host 0.0.0.0 (`host: 0.0.0.0` in a native recipe), unless that is meant",
        )


def _is_publish(text: str) -> bool:
    parts = text.split(":")
    ports = parts[-2:]
    return len(parts) in (2, 3) and all(is_port(port) for port in ports)
