"""Document → Inventory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from sparkc.diagnostics import Report
from sparkc.inventory.address import split_ssh
from sparkc.inventory.checks import check_address, check_distinct, check_shape, check_ssh
from sparkc.inventory.model import Inventory, Node
from sparkc.inventory.wiring import read_hca_addresses, read_links
from sparkc.patterns import pattern
from sparkc.reading.fields import Fields
from sparkc.reading.node import Document
from sparkc.reading.node import Mapping as MappingNode
from sparkc.reading.validated import read_validated
from sparkc.traced import Traced, from_default, from_file

CACHES = ("huggingface", "root", "vllm", "flashinfer", "b12x", "triton", "tilelang")
"""Caches that a node may keep elsewhere; their usual places are in planning. ``root`` holds the engine caches."""

T = TypeVar("T")

_LIMITS = {"nofile": 1, "memlock": -1, "stack": -1}
_DECIMAL = pattern(r"[0-9]+(\.[0-9]+)?")


def read_inventory(document: Document, report: Report) -> Inventory | None:
    """Return the inventory, or None when it has errors, all of which are in ``report``."""
    return read_validated(document, "inventory", report, lambda findings: _inventory(document, findings))


def read_topology(text: Traced[str] | None, count: int) -> Traced[str]:
    """Return the topology that was written, else the one that fits ``count`` nodes."""
    if text is not None:
        return text
    fitting = {1: "single", 2: "pair"}.get(count, "switch")
    return Traced(fitting, from_default("topology", f"the usual wiring of {count} Spark(s)"))


def home_of(user: Traced[str]) -> Traced[str]:
    """Return the home folder of a user of whom nothing else is known."""
    home = "/root" if user.value == "root" else f"/home/{user.value}"
    return Traced(home, from_default("home", f"the usual home folder of user {user.value}"))


def _inventory(document: Document, report: Report) -> Inventory:
    root = Fields(document.root, "", report)
    defaults = root.fields("defaults") or Fields(MappingNode((), root.mapping.span), "defaults", report)
    nodes = tuple(node for node in (_node(fields, defaults) for fields in root.items("nodes")) if node is not None)
    check_distinct(nodes, report)
    name = root.text("name")
    if name is not None:
        check_shape("name", name, "name", report)
    return Inventory(
        name=name.value if name is not None else stem_of(document.source.name),
        kind="file",
        source=document.source,
        topology=read_topology(root.text("topology"), len(nodes)),
        nodes=nodes,
        gid=_gid(root),
        port=root.integer("port", 1, 65535),
        env=_env(root),
        caches=_caches(root),
        limits=_limits(root),
        links=read_links(root, [node.name.value for node in nodes]),
    )


def _node(fields: Fields, defaults: Fields) -> Node | None:
    """Return a node, or None when it lacks a name or a way to reach it (then the schema has complained)."""
    report = fields.report

    def own_or_default(key: str) -> Fields:
        return fields if fields.node(key) is not None else defaults

    def text(key: str) -> Traced[str] | None:
        return own_or_default(key).text(key)

    name, ssh = fields.text("name"), fields.text("ssh")
    if name is None or ssh is None:
        return None
    check_shape("name", name, fields.key_path("name"), report)
    check_ssh(ssh, fields.key_path("ssh"), report)
    address, transfer = fields.text("address"), fields.text("transfer")
    if address is not None:
        check_address(address, f"address of node {name.value!r}:", report)
    if transfer is not None:
        check_ssh(transfer, fields.key_path("transfer"), report)
    user = _user(name, ssh, fields, defaults)
    home, interface = text("home"), text("interface")
    for shape, value in (("user", user), ("home", home), ("interface", interface)):
        if value is not None:
            check_shape(shape, value, f"{shape} of node {name.value!r}", report)
    if user is None:
        user = name.with_value("")  # an error was reported; the node is kept for the checks across nodes
    hcas = _hcas(name, own_or_default("hcas"))
    return Node(
        name=name,
        ssh=ssh,
        user=user,
        home=home_of(user) if home is None else home.with_value(home.value.rstrip("/") or "/"),
        address=address,
        transfer=transfer,
        interface=interface,
        hcas=hcas,
        hca_addresses=read_hca_addresses(fields, name, hcas),
        gpus=own_or_default("gpus").integer("gpus", 1, 64),
        memory=_memory(own_or_default("memory")),
        env=_merged(_env(fields), _env(defaults)),
        caches=_merged(_caches(fields), _caches(defaults)),
        limits=_merged(_limits(fields), _limits(defaults)),
    )


def _user(name: Traced[str], ssh: Traced[str], fields: Fields, defaults: Fields) -> Traced[str] | None:
    """The nearest statement counts: the node's ``user``, ``user@`` in its ssh target, then the default."""
    given = fields.text("user")
    target = split_ssh(ssh.value)
    login = None if target is None or target.user is None else ssh.with_value(target.user)
    if given is not None and login is not None and given.value != login.value:
        fields.report.error(
            "SPK206",
            f"node {name.value!r} has user {given.value!r}, but ssh logs in as {login.value!r}",
            given.origin.span,
            hint="keep one of the two",
        )
    user = given or login or defaults.text("user")
    if user is None and target is not None:
        fields.report.error(
            "SPK205",
            f"node {name.value!r} has no user, whose home folder holds the caches",
            name.origin.span,
            hint="add `user: NAME` to the node, or once for all nodes under `defaults:`",
        )
    return user


def _hcas(name: Traced[str], fields: Fields) -> tuple[Traced[str], ...]:
    hcas = fields.texts("hcas")
    seen: set[str] = set()
    for hca in hcas:
        check_shape("hca", hca, f"HCA of node {name.value!r}", fields.report)
        if hca.value in seen:
            fields.report.error(
                "SPK204", f"HCA {hca.value!r} is listed twice", hca.origin.span, hint="remove one of the two"
            )
        seen.add(hca.value)
    return hcas


def _memory(fields: Fields) -> Traced[float] | None:
    memory = fields.text("memory")
    if memory is None:
        return None
    if _DECIMAL.fullmatch(memory.value) is None or not 0 < float(memory.value) < 1e6:
        fields.report.error(
            "SPK207",
            f"memory is {memory.value!r}, but must be a number of GiB",
            memory.origin.span,
            hint="write it without a unit, such as 119.7",
        )
        return None
    return memory.with_value(float(memory.value))


def _gid(root: Fields) -> Traced[int] | None:
    node = root.node("gid")
    if node is None:
        return None
    if isinstance(node, MappingNode):
        pinned = Fields(node, "gid", root.report)
        if pinned.node("pin") is not None:
            return pinned.integer("pin", 0, 255)
    else:
        text = root.text("gid")
        if text is None or text.value == "auto":
            return None
    root.report.error(
        "SPK208",
        "gid must be auto or a pinned index",
        node.span,
        hint="write `gid: auto`, or `gid: {pin: 3}` for index 3 on every node",
    )
    return None


def _env(fields: Fields) -> dict[str, Traced[str | None]]:
    env = fields.text_map("env")
    mapping = fields.mapping.get("env")
    for entry in mapping.entries if isinstance(mapping, MappingNode) else ():
        name = Traced(entry.key.text, from_file(entry.key.span, fields.key_path("env")))
        check_shape("env", name, f"key of {fields.key_path('env')}", fields.report)
    return env


def _caches(fields: Fields) -> dict[str, Traced[str]]:
    section = fields.fields("caches")
    found = ((name, section.text(name)) for name in CACHES) if section is not None else ()
    caches = {name: value for name, value in found if value is not None}
    for name, value in caches.items():
        check_shape("cache", value, f"{fields.key_path('caches')}.{name}", fields.report)
    return caches


def _limits(fields: Fields) -> dict[str, Traced[int]]:
    section = fields.fields("limits")
    found = ((name, section.integer(name, low)) for name, low in _LIMITS.items()) if section is not None else ()
    return {name: value for name, value in found if value is not None}


def _merged(own: Mapping[str, Traced[T]], defaults: Mapping[str, Traced[T]]) -> dict[str, Traced[T]]:
    """Return the node's entries over the defaults', in the order in which the defaults name them."""
    merged = dict(defaults)
    for key, value in own.items():
        merged[key] = value.over(defaults.get(key))
    return merged


def stem_of(source_name: str) -> str:
    """Return a name for an inventory that states none, made from its file's name."""
    stem = source_name.replace("\\", "/").rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).lstrip("._-") or "inventory"
