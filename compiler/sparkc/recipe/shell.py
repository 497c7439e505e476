"""Command text to a ``Command``: exact argv items for one simple command, else a script that says why.

A shell's rules decide where words end (POSIX 2.2, 2.3), but no shell runs an argv: globs, ``~`` and braces are
ordinary characters in it. Leading ``NAME=VALUE`` words become environment, a leading ``exec`` is dropped, and
``bash -c "one simple command"`` is unwrapped.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.diagnostics import Report
from sparkc.reading.node import Scalar
from sparkc.recipe import shell_faults as faults
from sparkc.recipe.command_text import CommandText
from sparkc.recipe.model import Argv, Command, EnvValue
from sparkc.recipe.placeholders import Syntax, scan
from sparkc.recipe.script import build_script
from sparkc.recipe.shell_lexer import lex
from sparkc.recipe.shell_tokens import Lexed, Unreadable
from sparkc.recipe.shell_wrapper import unwrap
from sparkc.recipe.simple_commands import SimpleCommand, simple_commands, split_assignments
from sparkc.recipe.word_checks import check_characters
from sparkc.record import dataclass, replace
from sparkc.traced import Traced, from_file

_DEFAULT_SHELL = "/bin/bash"


@dataclass(frozen=True)
class ParsedCommand:
    """A command, and the environment that stood before it as ``NAME=VALUE`` words."""

    command: Command
    env: Mapping[str, Traced[EnvValue]]


def parse_command(
    scalar: Scalar, key_path: str, *, syntax: Syntax, allow_script: bool, report: Report
) -> ParsedCommand | None:
    """Read a command that was written as text.

    ``key_path`` names the text in origins ("command"). ``syntax`` says which braces are placeholders; in ``v1``
    text, lines of blanks and backslashes do not end a command. With ``allow_script`` (foreign dialects) a text
    that needs a shell becomes a ``Script`` with a warning; without it, that is an error which offers the list form.

    Returns:
        The command with its environment, or None after at least one error was reported.
    """
    atoms = scan(scalar, syntax, report)
    if atoms is None:
        return None
    return parse_text(CommandText(scalar, key_path, syntax, atoms), allow_script=allow_script, report=report)


def parse_text(text: CommandText, *, allow_script: bool, report: Report) -> ParsedCommand | None:
    """Read a command whose placeholders the caller has found by rules of its own; see :func:`parse_command`."""
    return _Parser(allow_script, report).parse(text, _DEFAULT_SHELL, "")


@dataclass(frozen=True)
class _Parser:
    allow_script: bool
    report: Report

    def parse(self, text: CommandText, interpreter: str, prelude: str) -> ParsedCommand | None:
        lexed = self._lex(text)
        if lexed is None:
            return None
        commands = simple_commands(lexed.tokens)
        if not commands:
            self._nothing(text, "the command is empty")
            return None
        faults.report_escapes(text, lexed, self.report)
        broken = faults.report_line_ends(text, lexed, commands, strict=not self.allow_script, report=self.report)
        needs = list(faults.needs(text, lexed, commands))
        if needs and not self.allow_script:
            faults.report_needs(text, needs, self.report)
            return None
        if broken or lexed.blank_escapes or lexed.dollar_placeholders:
            return None
        if needs or len(commands) > 1:
            second = commands[1].words[0] if len(commands) > 1 else None
            first = min(needs, key=lambda need: need.start, default=None)
            self.report.add(faults.script_warning(text, first, second))
            script = build_script(text, lexed, commands, interpreter, prelude, self.report)
            check_characters(script.engine, self.report)
            return ParsedCommand(script, {})
        return self._simple(text, commands[0])

    def _lex(self, text: CommandText) -> Lexed | None:
        try:
            return lex(text.atoms, drop_empty_lines=text.syntax == "v1")
        except Unreadable as fault:
            span = text.span(fault.index, fault.index + 1)
            self.report.error(fault.code, fault.message, span, hint=fault.hint)
            return None

    def _simple(self, text: CommandText, command: SimpleCommand) -> ParsedCommand | None:
        assignments, words = split_assignments(command.words)
        env: dict[str, Traced[EnvValue]] = {}
        for token in assignments:
            name, value = text.assigned(token)
            env[name] = Traced(value, from_file(text.span(token.start, token.end), text.key_path))
        words = words[1:] if words and words[0].text == "exec" else words
        if not words:
            self._nothing(text, "the command has no program, only assignments or exec")
            return None
        wrapped = unwrap(words)
        if wrapped is not None:
            inner_text = replace(text, atoms=wrapped.atoms)
            # In a native text, more than one simple command inside `bash -c` stays an argument of that bash.
            trial = self.report if self.allow_script else Report()
            inner = replace(self, report=trial).parse(inner_text, wrapped.interpreter, wrapped.prelude)
            if self.allow_script:
                return inner and ParsedCommand(inner.command, {**env, **inner.env})
            if inner is not None and not trial.failed:
                for diagnostic in trial.diagnostics:
                    self.report.add(diagnostic)
                return ParsedCommand(inner.command, {**env, **inner.env})
        faults.report_words(text, words, self.report)
        argv = Argv(tuple(text.word(token) for token in words))
        check_characters(argv.words, self.report)
        return ParsedCommand(argv, env)

    def _nothing(self, text: CommandText, message: str) -> None:
        self.report.error(
            "SPK118", message, text.scalar.span, hint=f"write the program and its arguments under {text.key_path}:"
        )
