"""Container settings of a rank: privilege, limits, devices and network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from sparkc.inventory.model import Inventory, Node
from sparkc.planning.model import Container, Mod
from sparkc.planning.overrides import Overrides
from sparkc.planning.sizes import plus_gigabytes
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_flag, from_rule

_ULIMITS: Mapping[str, Traced[int]] = {
    "memlock": Traced(-1, from_default("memlock", "at Docker's 8 MiB pinning memory, as RDMA does, fails with ENOMEM")),
    "nofile": Traced(1048576, from_default("nofile", "spark-vllm-docker's limit")),
    "stack": Traced(67108864, from_default("stack", "what NVIDIA recommends for its containers")),
}
_SHM = Traced("64gb", from_default("shared memory", "an engine's processes share it; Docker's 64 MB is too small"))
_INFINIBAND = "/dev/infiniband"
_BECAUSE = from_rule("RDMA", "the node lists HCAs; host networking alone falls back to TCP silently")
_RDMA_DEVICE, _RDMA_CAPABILITY = Traced(_INFINIBAND, _BECAUSE), Traced("IPC_LOCK", _BECAUSE)
_STOP_GRACE = from_default("stop grace", "time to finish requests and free unified memory")
# spark-vllm-docker's values for --non-privileged, and the swap that it adds to a memory limit
_MEMORY = 110
_PIDS = 4096
_SWAP_MARGIN = 10


def plan_container(
    recipe: Recipe,
    inventory: Inventory,
    node: Node,
    overrides: Overrides,
    mods: Sequence[Mod],
    *,
    solo: bool,
    stop_grace: int,
) -> Container:
    """Return the settings of one rank, each traced to the flag, recipe key, mod or default that decided it."""
    spec = recipe.container
    privileged = _privileged(recipe, overrides, mods)
    ipc_host = _ipc_host(recipe, overrides)
    rdma = not solo and bool(node.hcas) and not privileged.value
    devices = spec.devices
    if rdma and all(device.value.split(":")[0] != _INFINIBAND for device in devices):
        devices = (*devices, _RDMA_DEVICE)
    memory = _size(overrides.mem_limit_gb, "--mem-limit-gb", spec.memory, _non_privileged(overrides, _MEMORY))
    return Container(
        image=image_of(recipe, overrides),
        network=_network(overrides),
        privileged=privileged,
        ipc_host=ipc_host,
        shm_size=None if ipc_host.value else _size(overrides.shm_size_gb, "--shm-size-gb", spec.shm_size, _SHM),
        memory=memory,
        memory_swap=_size(
            overrides.mem_swap_limit_gb, "--mem-swap-limit-gb", spec.memory_swap, _swap(memory, overrides)
        ),
        pids=_pids(recipe, overrides),
        ulimits=_ulimits(recipe, inventory, node, overrides),
        devices=_distinct(devices),
        cap_add=(_RDMA_CAPABILITY,) if rdma else (),
        security_opt=_distinct(spec.security_opt),
        publish=_distinct(Traced(text, from_flag(f"-p {text}")) for text in overrides.publish),
        keep_entrypoint=keep_entrypoint(recipe, overrides),
        stop_grace=Traced(stop_grace, _STOP_GRACE),
    )


def _distinct(items: Iterable[Traced[str]]) -> tuple[Traced[str], ...]:
    """Return each item once, at its first place: Compose refuses a list with two equal ones."""
    first: dict[str, Traced[str]] = {}
    for item in items:
        first.setdefault(item.value, item)
    return tuple(first.values())


def keep_entrypoint(recipe: Recipe, overrides: Overrides) -> Traced[bool]:
    """True when the image's own entrypoint runs our launch script."""
    if overrides.keep_entrypoint:
        return Traced(True, from_flag("--keep-entrypoint"))
    if recipe.entrypoint is not None and recipe.entrypoint.value is None:
        return recipe.entrypoint.with_value(True)
    return Traced(False, from_default("entrypoint cleared", "images wrap or double the command otherwise"))


def image_of(recipe: Recipe, overrides: Overrides) -> Traced[str]:
    """Return the image reference: the command line's, else the recipe's."""
    if overrides.image is None:
        return recipe.image
    return Traced(overrides.image, from_flag(f"--image {overrides.image}")).over(recipe.image)


def _privileged(recipe: Recipe, overrides: Overrides, mods: Sequence[Mod]) -> Traced[bool]:
    stated = recipe.container.privileged
    if overrides.privileged:
        return Traced(True, from_flag("--privileged")).over(stated)
    asking = next((mod for mod in mods if "privileged" in mod.requires), None)
    if asking is not None:
        return Traced(True, from_rule(f"mod {asking.name}", "its mod.yaml requires privileged")).over(stated)
    if overrides.non_privileged:
        return Traced(False, from_flag("--non-privileged")).over(stated)
    return stated or Traced(False, from_default("not privileged", "GPUs need none, RDMA one device and one capability"))


def _ipc_host(recipe: Recipe, overrides: Overrides) -> Traced[bool]:
    stated = recipe.container.ipc_host
    if overrides.privileged:
        return Traced(True, from_flag("--privileged")).over(stated)
    return stated or Traced(False, from_default("private IPC", "a crashed engine leaves segments behind in the host's"))


def _network(overrides: Overrides) -> Traced[Literal["host", "bridge"]]:
    if overrides.publish:
        return Traced("bridge", from_flag(f"-p {overrides.publish[0]}"))
    return Traced("host", from_default("host network", "engines open random ports besides the API's"))


def _size(
    gigabytes: int | None, flag: str, stated: Traced[str] | None, otherwise: Traced[str] | None
) -> Traced[str] | None:
    """The flag's size, else the recipe's, else the built-in one if there is any."""
    if gigabytes is not None:
        return Traced(f"{gigabytes}gb", from_flag(f"{flag} {gigabytes}")).over(stated or otherwise)
    return stated or otherwise


def _non_privileged(overrides: Overrides, gigabytes: int) -> Traced[str] | None:
    return Traced(f"{gigabytes}gb", from_flag("--non-privileged")) if overrides.non_privileged else None


def _swap(memory: Traced[str] | None, overrides: Overrides) -> Traced[str] | None:
    """Memory + 10 GB, as the reference launcher does, when a flag limits the memory."""
    if memory is None or (overrides.mem_limit_gb is None and not overrides.non_privileged):
        return None
    return memory.with_value(plus_gigabytes(memory.value, _SWAP_MARGIN))


def _pids(recipe: Recipe, overrides: Overrides) -> Traced[int] | None:
    stated = recipe.container.pids
    if overrides.pids_limit is not None:
        return Traced(overrides.pids_limit, from_flag(f"--pids-limit {overrides.pids_limit}")).over(stated)
    return stated or (Traced(_PIDS, from_flag("--non-privileged")) if overrides.non_privileged else None)


def _ulimits(recipe: Recipe, inventory: Inventory, node: Node, overrides: Overrides) -> dict[str, Traced[int]]:
    limits = dict(_ULIMITS)
    layers: list[Mapping[str, Traced[int]]] = [inventory.limits, node.limits, recipe.container.ulimits]
    if overrides.nofile is not None:
        layers.append({"nofile": Traced(overrides.nofile, from_flag(f"--nofile {overrides.nofile}"))})
    for layer in layers:
        for name, value in layer.items():
            limits[name] = value.over(limits.get(name))
    return limits
