"""The memory watchdog that launch.sh starts beside the engine."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.planning.overrides import Overrides
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_flag

# TERM below 512 MiB available, KILL below 100 MiB, swap not waited for, a report a minute: it acts before unified
# memory locks the node up.
POLICY = "-M 524288,102400 -s 100 -r 60"


def earlyoom(recipe: Recipe, overrides: Overrides, report: Report) -> Traced[tuple[str, ...]] | None:
    """Return the watchdog's arguments (split on blanks, as earlyoom's own policy line is written), or None.

    ``recipe.earlyoom`` holds the arguments, "" for the default policy.
    """
    if overrides.earlyoom_args is not None:
        asked = Traced(overrides.earlyoom_args, from_flag(f"--earlyoom-args {overrides.earlyoom_args}")).over(
            recipe.earlyoom
        )
    elif recipe.earlyoom is not None:
        asked = recipe.earlyoom if recipe.earlyoom.value else Traced(POLICY, recipe.earlyoom.origin)
    elif overrides.earlyoom:
        asked = Traced(POLICY, from_flag("--earlyoom"))
    else:
        return None
    words = tuple(asked.value.split())
    if not words:
        report.error(
            "SPK357",
            "earlyoom without arguments would use its own percentages",
            asked.origin.span,
            hint=f"leave the arguments out for the default policy ({POLICY})",
        )
    return asked.with_value(words).over(asked.overrode)
