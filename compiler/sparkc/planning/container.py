"""Container settings of a rank: privilege, limits, devices and network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sparkc.diagnostics import Report
from sparkc.inventory.model import Inventory, Node
from sparkc.planning.model import Container, Mod
from sparkc.planning.overrides import Overrides
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_flag, from_rule

_ULIMITS: Mapping[str, Traced[int]] = {
    "memlock": Traced(-1, from_default("memlock", "RDMA registers memory; Docker's 8 MiB fails with ENOMEM")),
    "nofile": Traced(1048576, from_default("nofile", "spark-vllm-docker's limit")),
    "stack": Traced(67108864, from_default("stack", "NVIDIA's setting for its multi-node images")),
}
_SHM = Traced("64gb", from_default("shared memory", "tensor parallel hangs on Docker's 64 MB"))
_INFINIBAND = "/dev/infiniband"
_NON_PRIVILEGED_MEMORY_GB = 110
_NON_PRIVILEGED_PIDS = 4096
_SWAP_MARGIN_GB = 10


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
    ipc_host = spec.ipc_host or _implied_ipc(overrides)
    rdma = not solo and bool(node.hcas) and not privileged.value
    because = from_rule("RDMA", "the node lists HCAs; host networking alone falls back to TCP silently")
    devices = list(spec.devices)
    if rdma and _INFINIBAND not in [device.value for device in devices]:
        devices.append(Traced(_INFINIBAND, because))
    memory = (
        _gigabytes(overrides.mem_limit_gb, "--mem-limit-gb")
        or spec.memory
        or _non_privileged(overrides, _NON_PRIVILEGED_MEMORY_GB)
    )
    return Container(
        image=_image(recipe, overrides),
        network=_network(overrides),
        privileged=privileged,
        ipc_host=ipc_host,
        shm_size=None
        if ipc_host.value
        else _gigabytes(overrides.shm_size_gb, "--shm-size-gb") or spec.shm_size or _SHM,
        memory=memory,
        memory_swap=_gigabytes(overrides.mem_swap_limit_gb, "--mem-swap-limit-gb")
        or spec.memory_swap
        or _swap(memory, overrides),
        pids=_pids(recipe, overrides),
        ulimits=_ulimits(recipe, inventory, node, overrides),
        devices=tuple(devices),
        cap_add=(Traced("IPC_LOCK", because),) if rdma else (),
        security_opt=spec.security_opt,
        publish=tuple(Traced(text, from_flag(f"-p {text}")) for text in overrides.publish),
        keep_entrypoint=keep_entrypoint(recipe, overrides),
        stop_grace=Traced(stop_grace, from_default("stop grace", "time to finish requests and free unified memory")),
    )


def keep_entrypoint(recipe: Recipe, overrides: Overrides) -> Traced[bool]:
    """True when the image's own entrypoint runs our launch script."""
    if overrides.keep_entrypoint:
        return Traced(True, from_flag("--keep-entrypoint"))
    if recipe.entrypoint is not None and recipe.entrypoint.value is None:
        return recipe.entrypoint.with_value(True)
    return Traced(False, from_default("entrypoint cleared", "images wrap or double the command otherwise"))


def _image(recipe: Recipe, overrides: Overrides) -> Traced[str]:
    if overrides.image is None:
        return recipe.image
    return Traced(overrides.image, from_flag(f"--image {overrides.image}")).over(recipe.image)


def _privileged(recipe: Recipe, overrides: Overrides, mods: Sequence[Mod]) -> Traced[bool]:
    if overrides.privileged:
        return Traced(True, from_flag("--privileged"))
    asking = next((mod for mod in mods if "privileged" in mod.requires), None)
    if asking is not None:
        return Traced(True, from_rule(f"mod {asking.name}", "its mod.yaml requires privileged"))
    if recipe.container.privileged is not None and not overrides.non_privileged:
        return recipe.container.privileged
    return Traced(False, from_default("not privileged", "one device and one capability are enough for RDMA"))


def _implied_ipc(overrides: Overrides) -> Traced[bool]:
    if overrides.privileged:
        return Traced(True, from_flag("--privileged"))
    return Traced(False, from_default("private IPC", "a crashed engine leaves segments behind in the host's"))


def _network(overrides: Overrides) -> Traced[Literal["host", "bridge"]]:
    if overrides.publish:
        return Traced("bridge", from_flag(f"-p {overrides.publish[0]}"))
    return Traced("host", from_default("host network", "engines open random ports between ranks"))


def _gigabytes(value: int | None, flag: str) -> Traced[str] | None:
    return None if value is None else Traced(f"{value}gb", from_flag(f"{flag} {value}"))


def _non_privileged(overrides: Overrides, gigabytes: int) -> Traced[str] | None:
    return Traced(f"{gigabytes}gb", from_flag("--non-privileged")) if overrides.non_privileged else None


def _swap(memory: Traced[str] | None, overrides: Overrides) -> Traced[str] | None:
    """Memory + 10 GB, as the reference launcher does, when a flag limits the memory."""
    if memory is None or (overrides.mem_limit_gb is None and not overrides.non_privileged):
        return None
    if not memory.value.removesuffix("gb").isdecimal():
        return None
    return memory.with_value(f"{int(memory.value.removesuffix('gb')) + _SWAP_MARGIN_GB}gb")


def _pids(recipe: Recipe, overrides: Overrides) -> Traced[int] | None:
    if overrides.pids_limit is not None:
        return Traced(overrides.pids_limit, from_flag(f"--pids-limit {overrides.pids_limit}"))
    if recipe.container.pids is not None:
        return recipe.container.pids
    return Traced(_NON_PRIVILEGED_PIDS, from_flag("--non-privileged")) if overrides.non_privileged else None


def _ulimits(recipe: Recipe, inventory: Inventory, node: Node, overrides: Overrides) -> dict[str, Traced[int]]:
    limits = dict(_ULIMITS)
    layers: list[Mapping[str, Traced[int]]] = [inventory.limits, node.limits, recipe.container.ulimits]
    if overrides.nofile is not None:
        layers.append({"nofile": Traced(overrides.nofile, from_flag(f"--nofile {overrides.nofile}"))})
    for layer in layers:
        for name, value in layer.items():
            limits[name] = value.over(limits.get(name))
    return limits


def check_container(
    recipe: Recipe,
    overrides: Overrides,
    mods: Sequence[Mod],
    *,
    solo: bool,
    api_host: Traced[str] | None,
    report: Report,
) -> None:
    """Report settings that contradict each other. ``api_host`` is what the engine binds to."""
    keeps = keep_entrypoint(recipe, overrides)
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
    if overrides.publish and not solo:
        report.error(
            "SPK354",
            "-p publishes a port of one container; in a cluster the ranks need host networking",
            hint="remove -p, or compile with --solo",
        )
    if overrides.publish and api_host is not None and api_host.value in ("127.0.0.1", "localhost", "::1"):
        report.warning(
            "SPK355",
            f"the engine listens on {api_host.value} inside the container: a published port does not reach it",
            api_host.origin.span,
            hint="set --host 0.0.0.0",
        )
    for text in overrides.publish:
        if not _is_publish(text):
            report.error("SPK356", f"-p {text}: not HOST:CONTAINER", hint="for example -p 9000:8000")


def _is_publish(text: str) -> bool:
    parts = text.split(":")
    ports = parts[-2:]
    return len(parts) in (2, 3) and all(port.isdecimal() and 0 < int(port) < 65536 for port in ports)
