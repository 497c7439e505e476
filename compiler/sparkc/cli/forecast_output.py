"""What a roll-out found and would do, as a table or for programs: of plan, deploy and rollback."""

from __future__ import annotations

from collections.abc import Sequence

from sparkc.bundle.manifest import Manifest
from sparkc.cli.findings_output import as_data, count, failed, print_findings, print_table
from sparkc.runner.actions import Action, unchanged
from sparkc.runner.rollout import Forecast

_KINDS = ("stop", "replace", "start", "wait")


def print_forecast(found: Forecast) -> None:
    """Print what happens to every rank, then warnings and errors."""
    rows = [
        [str(action.rank), action.node, action.now, action.then, action.kind, action.why or "-"]
        for action in found.actions
    ]
    print_table(("RANK", "NODE", "NOW", "THEN", "ACTION", "WHY"), rows)
    print_findings([finding for finding in found.findings if finding.severity != "note"])


def verdict(found: Forecast) -> str:
    """Return what a deploy would do, in a sentence."""
    manifest = found.group.manifest
    if failed(found.findings):
        return f"a deploy would stop here: {count(found.findings)} (`sparkc doctor {manifest.name}` shows all)"
    if unchanged(found.actions):
        return f"{manifest.name} runs as it should: a deploy has nothing to do"
    return f"a deploy would: {_summary(found.actions)} (ranks start {_waves(manifest)})"


def forecast_data(found: Forecast) -> dict[str, object]:
    """Return a forecast for ``--json``."""
    manifest = found.group.manifest
    return {
        "bundle": manifest.name,
        "group_digest": manifest.group_digest,
        "unchanged": unchanged(found.actions),
        "waves": [list(wave) for wave in manifest.waves],
        "actions": [
            {
                "rank": action.rank,
                "node": action.node,
                "action": action.kind,
                "why": action.why,
                "now": action.now,
                "then": action.then,
            }
            for action in found.actions
        ],
        "findings": as_data(found.findings),
    }


def _summary(actions: Sequence[Action]) -> str:
    kinds = [action.kind for action in actions]
    return ", ".join(f"{kind} {kinds.count(kind)}" for kind in _KINDS if kind in kinds)


def _waves(manifest: Manifest) -> str:
    return " then ".join(", ".join(map(str, wave)) for wave in manifest.waves)
