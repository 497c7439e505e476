"""No secret in a bundle: values that look like access tokens are refused wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkc.diagnostics import Report
from sparkc.diagnostics.tokens import TOKEN
from sparkc.planning.model import Exec, RankPlan
from sparkc.traced import Traced


def looks_secret(text: str) -> bool:
    """True for text that holds something shaped like an access token."""
    return TOKEN.search(text) is not None


def check_ranks(ranks: Sequence[RankPlan], report: Report) -> None:
    """Report token-shaped text in anything that a rank's files will hold."""
    for rank in ranks:
        process = rank.process
        words = process.argv if isinstance(process, Exec) else (*process.entrypoint, process.text)
        everything = [*words, *rank.environment.values(), *(mount.source for mount in rank.mounts)]
        everything.append(rank.container.image)
        # One search over all of it: nearly always there is nothing to name.
        if not TOKEN.search("\n".join([*rank.environment, *(traced.value for traced in everything)])):
            continue
        _check(rank.environment.items(), report)
        _check((("the command", word) for word in words), report)
        _check(((f"the mount on {mount.target.value}", mount.source) for mount in rank.mounts), report)
        _check([("the image", rank.container.image)], report)


def check_files(files: Iterable[tuple[str, bytes]], report: Report) -> None:
    """Report token-shaped text in rendered files (path, content), wherever it came from: a mod, a description."""
    for path, data in files:
        if TOKEN.search(data.decode("utf-8", "replace")):
            report.error(
                "SPK370",
                f"{path} would hold something that looks like an access token; a bundle is committed to git",
                hint="remove it from what this file is made from: the recipe's texts, or a mod",
            )


def _check(values: Iterable[tuple[str, Traced[str]]], report: Report) -> None:
    """Check (name, value) pairs. The message never repeats the value."""
    for name, traced in values:
        if TOKEN.search(traced.value) or TOKEN.search(name):
            shown = "a name" if TOKEN.search(name) else name
            report.error(
                "SPK370",
                f"{shown} holds something that looks like an access token; a bundle is committed to git",
                traced.origin.span,
                hint="remove it here and list the variable under secrets: it is then read on the node",
            )
