"""What engines ask of a recipe's command, whichever engine it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.serving import is_port
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.model import Recipe, Script
from sparkc.traced import Traced, from_default


def engine_start(words: Words) -> int:
    """Return the index of the engine's program: what stands before it has flags of its own (``numactl -N 0``)."""
    found = find_engine([word.value for word in words])
    return 0 if found is None else found.start


def refuse_rank_flags(words: Words, owned: Collection[str], report: Report) -> None:
    """Report flags whose value is different on every rank: only sparkc knows it."""
    for word in words[engine_start(words) :]:
        if arguments.flag_name(word.value) in owned:
            report.error(
                "SPK310",
                f"{word.value.split('=')[0]} belongs to sparkc: it is different on every rank",
                word.origin.span,
                hint="remove it from the recipe; sparkc adds the rank flags itself",
            )


def check_port(recipe: Recipe, words: Words, report: Report) -> None:
    """Report a port that is none. In a script the value may be the shell's to find."""
    port = arguments.last_value(words, ("--port",))
    if port is not None and not is_port(port.value) and not isinstance(recipe.command, Script):
        report.error(
            "SPK313",
            f"--port must be a number from 1 to 65535, got {port.value!r}",
            port.origin.span,
            hint="write the port that clients use, or give it with --port",
        )


def read_size(words: Words, names: Sequence[str], field: Traced[int] | None, report: Report) -> Traced[int]:
    """Return a parallel size: the flag's, else the recipe's field, else one. argparse keeps the last, so do we."""
    given = arguments.last_value(words, names)
    if given is None:
        return field or Traced(1, from_default("parallel size", "the engine's default is one"))
    if given.value.isdecimal() and len(given.value) < 7 and int(given.value) > 0:
        return given.with_value(int(given.value))
    report.error(
        "SPK312",
        f"{names[0]} must be a whole number above 0, got {given.value!r}",
        given.origin.span,
        hint="sparkc counts nodes from it: write a number, or a parameter that is one",
    )
    return Traced(1, given.origin)


def implied_flags(words: Words, wanted: Sequence[tuple[Sequence[str], tuple[Traced[str], ...]]]) -> Words:
    """Return, of flags (their spellings, the preferred one first) and values, those that ``words`` lacks."""
    added: list[Traced[str]] = []
    for names, values in wanted:
        if values and not arguments.has(words, names):
            added += [values[0].with_value(names[0]), *values]
    return tuple(added)


def as_texts(*values: Traced[str] | Traced[int] | None) -> tuple[Traced[str], ...]:
    """Return the values that are there, as argv items."""
    return tuple(value.with_value(str(value.value)) for value in values if value is not None)


def hub_revision(recipe: Recipe) -> Traced[str] | None:
    """Return the revision of a model from the Hub; a path in the container has none."""
    from_hub = recipe.model is not None and not recipe.model.value.startswith("/")
    return recipe.revision if from_hub else None
