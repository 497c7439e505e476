"""Checks that every inventory passes, whether it was read from a file or made from ``--nodes 10.0.0.1,…``.

Names, users, interfaces and ssh targets end up in ssh command lines and folder names, so their characters are
limited: nothing may look like an option, a list or shell syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from sparkc.diagnostics import Related, Report
from sparkc.inventory.address import address_problem, canonical_address, canonical_ssh, split_ssh
from sparkc.inventory.model import Node
from sparkc.patterns import pattern
from sparkc.traced import Traced

# Pattern, what it stands for, and an example. The patterns stand in schemas/inventory.schema.json too, for
# editors; a test compares them.
SHAPES: dict[str, tuple[re.Pattern[str], str, str]] = {
    "name": (
        pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
        "letters, digits, '.', '_' and '-', with a letter or digit first",
        "spark-1",
    ),
    "user": (pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]*"), "a login name of letters, digits, '.', '_' and '-'", "spark"),
    "home": (pattern(r"/[^\x00-\x1f\x7f]*"), "an absolute path", "/home/spark"),
    "interface": (
        pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}"),
        "the name of one interface, of at most 15 characters",
        "enp1s0f0np0",
    ),
    "hca": (
        pattern(r"[A-Za-z][A-Za-z0-9_-]*(:[0-9]+)?"),
        "the name of one HCA, without the leading '=' that sparkc adds itself",
        "rocep1s0f0",
    ),
    "cache": (pattern(r"~?/[^\x00-\x1f\x7f]*"), "an absolute path or one below ~/", "~/.cache/huggingface"),
    "env": (pattern(r"[A-Za-z_][A-Za-z0-9_]*"), "a variable name of letters, digits and '_'", "NCCL_DEBUG"),
}


def check_shape(shape: str, value: Traced[str], what: str, report: Report) -> bool:
    """Report ``value``, called ``what``, unless it has the form named ``shape``; return whether it has."""
    pattern, wanted, example = SHAPES[shape]
    if pattern.fullmatch(value.value):
        return True
    report.error(
        "SPK201", f"{what} must be {wanted}, not {value.value!r}", value.origin.span, hint=f"write it like {example}"
    )
    return False


def check_ssh(value: Traced[str], what: str, report: Report) -> bool:
    """Report an ssh target or a copy address that ssh would not understand; return whether it is fine."""
    if split_ssh(value.value) is not None:
        return True
    report.error(
        "SPK202",
        f"{what} is {value.value!r}, which is not a host, user@host or user@host:port",
        value.origin.span,
        hint="write a host name, an alias of your ssh config or an IP address; an IPv6 address with a port needs"
        " brackets: [fd00::2]:22; ports are 1 to 65535 without leading zeros",
    )
    return False


def check_address(value: Traced[str], what: str, report: Report) -> bool:
    """Report an address that other nodes cannot reach a rank at; return whether it is fine."""
    problem = address_problem(value.value)
    if problem is None:
        return True
    report.error(
        "SPK203",
        f"{what} {value.value!r} {problem}",
        value.origin.span,
        hint="give the node's IP address on the fabric, such as 192.168.177.11 (`ip -br addr` on the node lists them)",
    )
    return False


def check_distinct(nodes: Sequence[Node], report: Report) -> None:
    """Report names, ssh targets and addresses that two nodes share, with both places."""
    _distinct("name", ((node, node.name) for node in nodes), str.casefold, report)
    _distinct("ssh", ((node, node.ssh) for node in nodes), canonical_ssh, report)
    _distinct("address", ((node, node.address) for node in nodes), canonical_address, report)
    _distinct("transfer", ((node, node.transfer) for node in nodes), canonical_ssh, report)


def _distinct(
    key: str, values: Iterable[tuple[Node, Traced[str] | None]], canonical: Callable[[str], str], report: Report
) -> None:
    first: dict[str, tuple[Node, Traced[str]]] = {}
    for node, value in values:
        if value is None:
            continue
        other = first.setdefault(canonical(value.value), (node, value))
        if other[1] is value:
            continue
        owner, earlier = other
        whose = "" if key == "name" else f" of node {node.name.value!r}"
        spelled = "" if earlier.value == value.value else f" (written {earlier.value!r})"
        report.error(
            "SPK204",
            f"{key} {value.value!r}{whose} is already taken by node {owner.name.value!r}{spelled}",
            value.origin.span,
            hint=f"give each node its own {key}",
            related=[Related("first used here", earlier.origin.span)] if earlier.origin.span else [],
        )
