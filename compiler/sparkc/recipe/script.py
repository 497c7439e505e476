"""Command text that needs a shell: find the engine's command in it and keep the rest as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkc.diagnostics import Related, Report
from sparkc.recipe.command_text import CommandText, visible
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.model import Part, Script, Text, Word
from sparkc.recipe.shell_tokens import Lexed, Token
from sparkc.recipe.simple_commands import SimpleCommand
from sparkc.traced import from_file

_SHEBANG = re.compile(r"#![ \t]*([^\n]*?)[ \t]*(\n|$)")


def build_script(
    text: CommandText, lexed: Lexed, commands: Sequence[SimpleCommand], interpreter: str, prelude: str, report: Report
) -> Script:
    """Return the text as a script; ``interpreter`` is what runs it when it has no ``#!`` line of its own.

    The ``#!`` line becomes ``shebang`` and leaves the text. Of several engine commands the last one counts.
    """
    shebang = _SHEBANG.match("".join(atom.char or "\0" for atom in text.atoms))
    start = shebang.end() if shebang else 0
    end = len(text.atoms)
    engine = _engine_words(text, commands, report)
    origin = from_file(text.span(0, end), text.key_path)
    before = lexed.source(start, engine[0].start if engine else end)
    after = lexed.source(engine[-1].end, end) if engine else ()
    return Script(
        before=_prefixed(prelude, before),
        engine=tuple(_script_word(text, lexed, token) for token in engine),
        after=after,
        shebang=shebang[1] if shebang else interpreter,
        origin=origin,
    )


def _script_word(text: CommandText, lexed: Lexed, token: Token) -> Word:
    return text.word(token, lexed.source(token.start, token.end))


def _prefixed(prelude: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return (Text(prelude), *parts) if prelude else parts


def _engine_words(text: CommandText, commands: Sequence[SimpleCommand], report: Report) -> tuple[Token, ...]:
    """Return the words from the engine's program to the last one that arguments can follow."""
    found = [
        command.words[engine.start : command.unbroken]
        for command in commands
        if (engine := find_engine([visible(word) for word in command.words[: command.unbroken]]))
    ]
    if len(found) > 1:
        *others, last = found
        report.warning(
            "SPK125",
            "this script has several engine commands; rank flags are added to the last one",
            text.span(last[0].start, last[-1].end),
            hint="keep one engine command in the recipe",
            related=[Related("also an engine command", text.span(words[0].start, words[-1].end)) for words in others],
        )
    return found[-1] if found else ()
