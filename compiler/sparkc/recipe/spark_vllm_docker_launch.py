"""The ``launch:`` mapping that forks of spark-vllm-docker added: the launcher's flags as recipe fields."""

from __future__ import annotations

from sparkc.diagnostics import Severity
from sparkc.reading.fields import Fields
from sparkc.recipe.model import ContainerSpec
from sparkc.traced import Traced, from_rule

_KEYS = (
    "earlyoom",
    "earlyoom_args",
    "non_privileged",
    "mem_limit_gb",
    "mem_swap_limit_gb",
    "pids_limit",
    "shm_size_gb",
    "extra_docker_args",
)
# The launcher's values for `--non-privileged`.
_MEMORY_GB = 110
_SWAP_GB = 10
_PIDS = 4096
_SHM_GB = 64
_NON_PRIVILEGED = from_rule("non-privileged mode", "spark-vllm-docker's launcher sets this limit in that mode")


def read_container(launch: Fields) -> ContainerSpec:
    """Return the container settings; sizes that the non-privileged mode implies are filled in."""
    launch.unknown(_KEYS, severity=Severity.WARNING)
    if launch.texts("extra_docker_args"):
        launch.report.warning(
            "SPK129",
            f"{launch.key_path('extra_docker_args')} is not carried over: a bundle has no docker command line",
            launch.span("extra_docker_args"),
            hint="write a native recipe: it has mounts, env, container.devices and container.ulimits",
        )
    memory, swap = launch.integer("mem_limit_gb", 1), launch.integer("mem_swap_limit_gb", 1)
    pids, shm = launch.integer("pids_limit", 1), launch.integer("shm_size_gb", 1)
    mode = launch.boolean("non_privileged")
    privileged = None
    if mode is not None and mode.value:
        privileged = mode.with_value(False)
        memory = memory or Traced(_MEMORY_GB, _NON_PRIVILEGED)
        swap = swap or Traced(memory.value + _SWAP_GB, _NON_PRIVILEGED)
        pids = pids or Traced(_PIDS, _NON_PRIVILEGED)
        shm = shm or Traced(_SHM_GB, _NON_PRIVILEGED)
    return ContainerSpec(
        privileged=privileged,
        memory=_gigabytes(memory),
        memory_swap=_gigabytes(swap),
        pids=pids,
        shm_size=_gigabytes(shm),
    )


def read_earlyoom(launch: Fields) -> Traced[str] | None:
    """Return the watchdog's arguments ("" for the built-in policy), or None when it is not asked for."""
    asked, arguments = launch.boolean("earlyoom"), launch.text("earlyoom_args")
    if arguments is not None:
        return arguments
    return asked.with_value("") if asked is not None and asked.value else None


def _gigabytes(size: Traced[int] | None) -> Traced[str] | None:
    return None if size is None else size.with_value(f"{size.value}gb")
