"""``executor_config`` of sparkrun, which says how Docker runs the container, as our container settings and mounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparkc.diagnostics import Report, Severity
from sparkc.patterns import pattern
from sparkc.reading.fields import Fields
from sparkc.reading.source import Span
from sparkc.recipe.model import ContainerSpec, MountSpec
from sparkc.recipe.quantities import read_size
from sparkc.traced import Traced, from_rule

_KNOWN = (
    "auto_remove", "restart_policy", "privileged", "gpus", "gpu_access_mode", "ipc", "shm_size", "network",
    "entrypoint", "user", "security_opt", "cap_add", "ulimit", "devices", "volumes", "memory_limit", "labels",
)  # fmt: skip
# What every bundle does anyhow, by key; another value is not carried over.
_AS_OURS = {
    "auto_remove": None,  # the runner removes containers
    "labels": None,  # sparkrun's own bookkeeping
    "gpu_access_mode": None,
    "gpus": frozenset({"all", "device=0", "0"}),
    "network": frozenset({"host"}),
    "user": frozenset({"root", "0", "0:0"}),
    "restart_policy": frozenset({"", "no"}),
    "entrypoint": frozenset({""}),
}
_WHY_NOT = {
    "restart_policy": "one rank that is revived alone joins a group that does not expect it",
    "entrypoint": "sparkrun starts the server beside it, a bundle starts the server itself",
    "user": "a bundle runs as the image's user",
    "gpus": "every rank has all GPUs of its node",
    "network": "ranks find each other on the host's network",
}
_OWN_CAPABILITIES = frozenset({"IPC_LOCK"})
_LIMIT = pattern(r"(nofile|memlock|stack)=(-?[0-9]{1,12})(?::(-?[0-9]{1,12}))?")
_HUB_CACHE = "/cache/huggingface"


def read_container(fields: Fields | None) -> ContainerSpec:
    """Return the settings that a bundle can hold; each of the others is a warning."""
    if fields is None:
        return ContainerSpec()
    fields.unknown(_KNOWN, severity=Severity.WARNING)
    for key, usual in _AS_OURS.items():
        node = fields.node(key)
        if usual is None or node is None:
            continue
        value = fields.text(key)
        if value is not None and value.value not in usual:
            not_carried(fields, key, _WHY_NOT[key])
    for capability in fields.texts("cap_add"):
        if capability.value.removeprefix("CAP_") not in _OWN_CAPABILITIES:
            not_carried(fields, "cap_add", f"a bundle gives no {capability.value}", capability.origin.span)
    ipc = fields.text("ipc")
    return ContainerSpec(
        privileged=fields.boolean("privileged"),
        ipc_host=ipc.with_value(True) if ipc is not None and ipc.value == "host" else None,
        shm_size=read_size(fields, "shm_size"),
        memory=read_size(fields, "memory_limit"),
        devices=fields.texts("devices"),
        security_opt=fields.texts("security_opt"),
        ulimits=dict(_limits(fields)),
    )


def read_volumes(fields: Fields | None, key: str) -> Iterator[MountSpec]:
    """Yield the mounts of a list of ``SOURCE:TARGET[:ro]``; a bare path keeps its place."""
    if fields is None:
        return
    for item in fields.texts(key):
        source, _, rest = item.value.partition(":")
        target, _, mode = rest.partition(":")
        if not source or mode not in ("", "ro", "rw"):
            item_path = item.origin.text.split(": ")[-1]
            fields.report.error(
                "SPK140",
                f"{item_path} is {item.value!r}, which is not SOURCE:TARGET or SOURCE:TARGET:ro",
                item.origin.span,
                hint="write it like ~/models:/models:ro",
            )
            continue
        read_only = mode == "ro"
        # Docker makes a missing source, which for a read-only one hides that something is missing.
        yield MountSpec(item.with_value(source), item.with_value(target or source), read_only, create=not read_only)


def hub_cache(texts: Iterable[str], mounts: Iterable[MountSpec], at: Span, report: Report) -> Iterator[MountSpec]:
    """Yield the Hugging Face cache at sparkrun's place for it, when one of ``texts`` names that place."""
    if any(mount.target.value == _HUB_CACHE for mount in mounts) or not any(_HUB_CACHE in text for text in texts):
        return
    report.note(
        "SPK142",
        f"the Hugging Face cache is mounted at {_HUB_CACHE} too, where sparkrun has it and this recipe expects it",
        at,
        hint="nothing to do; an inventory that keeps the cache elsewhere needs its own mount there",
    )
    rule = from_rule("sparkrun's cache path", "sparkrun mounts the Hugging Face cache there")
    yield MountSpec(Traced("~/.cache/huggingface", rule), Traced(_HUB_CACHE, rule), create=True)


def not_carried(
    fields: Fields, key: str, why: str, span: Span | None = None, hint: str = "remove it, or say it in a native recipe"
) -> None:
    """Warn that a field has no counterpart in a bundle."""
    fields.report.warning(
        "SPK129",
        f"{fields.key_path(key)} is not carried over: {why}",
        span or fields.span(key),
        hint=hint,
    )


def _limits(fields: Fields) -> Iterator[tuple[str, Traced[int]]]:
    for item in fields.texts("ulimit"):
        match = _LIMIT.fullmatch(item.value)
        if match is not None and match[3] in (None, match[2]):
            yield match[1], item.with_value(int(match[2]))
        else:
            not_carried(
                fields, "ulimit", f"{item.value} is no single limit of nofile, memlock or stack", item.origin.span
            )
