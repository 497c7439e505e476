"""From a recipe's command to the engine's words: parameters, implied flags, overrides, extra arguments."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import Engine
from sparkc.planning.model import Exec, Process, Shell
from sparkc.planning.overrides import Overrides
from sparkc.planning.parameters import OVERRIDE_PARAMETERS, Parameters, flag_of, used_parameters
from sparkc.planning.words import fill_words
from sparkc.recipe.model import Argv, Recipe, Script, Text
from sparkc.recipe.placeholders import fill_shell, quote
from sparkc.record import dataclass
from sparkc.traced import Traced, from_flag, from_rule


@dataclass(frozen=True)
class CommandPlan:
    """What is the same for every rank's command."""

    recipe: Recipe
    engine: Engine
    overrides: Overrides
    port: Traced[int] | None


def engine_words(plan: CommandPlan, values: Parameters, nnodes: int, report: Report) -> Words:
    """Return the engine's command for one rank, before the engine adds what belongs to the rank.

    Raises nothing; a command that cannot take an override or lacks an engine is reported.
    """
    recipe, engine = plan.recipe, plan.engine
    command = recipe.command
    words = fill_words(command.words if isinstance(command, Argv) else command.engine, values, report)
    if recipe.arguments_only:
        words = (*_beginning(plan), *engine.implied(recipe, words), *words)
    words = _apply_overrides(plan, words, report)
    words = (*words, *(Traced(text, from_flag(f"-- {text}")) for text in plan.overrides.arguments))
    return engine.prepare(recipe, words, nnodes, report)


def _beginning(plan: CommandPlan) -> Words:
    """The recipe's entrypoint, the engine's program, the model.

    An entrypoint that already ends with the program's last word, or with ``serve``, replaces the program: it is
    ``… toolchain.py serve`` or ``sglang serve``.
    """
    recipe, engine = plan.recipe, plan.engine
    rule = from_rule(f"{engine.name} program", "what starts the server")
    start = _entrypoint(recipe)
    program = engine.program(recipe)
    if not start or not program or start[-1].value not in (program[-1], "serve"):
        start = (*start, *arguments.flags(rule, *program))
    if recipe.model is None:
        return start
    *before, model = engine.model_words(recipe.model.value)
    return (*start, *arguments.flags(rule, *before), recipe.model.with_value(model))


def _entrypoint(recipe: Recipe) -> Words:
    if recipe.entrypoint is None or recipe.entrypoint.value is None:
        return ()
    return tuple(recipe.entrypoint.with_value(word) for word in recipe.entrypoint.value)


def _apply_overrides(plan: CommandPlan, words: Words, report: Report) -> Words:
    recipe, overrides = plan.recipe, plan.overrides
    used = used_parameters(recipe)
    script = isinstance(recipe.command, Script)
    for override, names in OVERRIDE_PARAMETERS.items():
        given = getattr(overrides, override)
        value = None if given is None else Traced(str(given), from_flag(f"{flag_of(override)} {given}"))
        placed = [name for name in names if name in used]
        # The built-in {port} of a native recipe tells others of the port; the engine's own flag is still needed.
        by_parameter = any(name in recipe.defaults or recipe.dialect != "native" for name in placed)
        if value is None and override == "port" and plan.port is not None and not by_parameter and not script:
            # An inventory-wide port serves recipes that state none.
            spellings = plan.engine.override_flags("port")
            if spellings and not arguments.has(words, spellings):
                value = plan.port.with_value(str(plan.port.value))
        if value is None:
            continue
        spellings = plan.engine.override_flags(override)
        if script or not spellings:
            if not placed:
                what = (
                    "its command is a script"
                    if script
                    else f"engine {plan.engine.name} has no flag for it that sparkc knows"
                )
                report.error(
                    "SPK302",
                    f"{flag_of(override)}: the recipe cannot take it ({what})",
                    hint="change it in the script"
                    if recipe.dialect == "launch-script"
                    else f"put the placeholder {{{names[0]}}} into the command, with a default",
                )
            continue
        if by_parameter and not arguments.has(words, spellings):
            continue
        words = arguments.with_value(words, spellings, value)
    if overrides.arguments and script and not words:
        report.error(
            "SPK303",
            "arguments after -- have no engine command to go to",
            hint="the script does not call a known engine",
        )
    return words


def process(plan: CommandPlan, values: Parameters, final: Words, report: Report) -> Process:
    """Return what the rank runs: ``final`` as argv, or the script with ``final`` in the place of its engine command.

    Words that come unchanged from the script keep their shell form, with live expansions.
    """
    recipe = plan.recipe
    command = recipe.command
    entry = () if recipe.arguments_only else _entrypoint(recipe)
    if isinstance(command, Argv):
        return Exec((*entry, *final))
    texts = {name: value.value for name, value in values.items()}
    live = _shell_forms(command, values, texts, report)
    shown = (live.get((word.value, word.origin), quote(word.value)) for word in final)
    body = " \\\n    ".join(text for text in shown if text)
    before = fill_shell(command.before, texts, report)
    after = fill_shell(command.after, texts, report)
    text = f"#!{command.shebang}\n{before}{body}{after}".rstrip("\n") + "\n"
    return Shell(Traced(text, command.origin), command.shebang, entry, final if command.engine else ())


def _shell_forms(
    script: Script, values: Parameters, texts: dict[str, str], report: Report
) -> dict[tuple[str, object], str]:
    forms: dict[tuple[str, object], str] = {}
    for word in script.engine:
        shell = word.shell or (Text(""),)
        # A placeholder outside quotes can make several items of one word; its shell form stands for all of them.
        for position, item in enumerate(fill_words((word,), values, report)):
            forms[item.value, item.origin] = "" if position else fill_shell(shell, texts, report)
    return forms
