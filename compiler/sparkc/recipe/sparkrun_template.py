"""Placeholders of a sparkrun command: known names are replaced, again and again, until nothing changes.

A parameter whose value holds other known names is written out where it stands, so that what remains are
placeholders with plain values and an override of an inner one reaches every place. All other braces are text, which
keeps JSON as it is typed; where a text has ``{{`` somewhere, doubled braces mean single ones
(https://github.com/spark-arena/sparkrun/pull/230).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Related, Report
from sparkc.diagnostics.suggest import did_you_mean
from sparkc.patterns import pattern
from sparkc.reading.locate import locate
from sparkc.reading.node import Scalar
from sparkc.reading.source import Span
from sparkc.recipe.model import Argv, Command, Param, Part, Text, Word
from sparkc.recipe.placeholders import Atom, Context
from sparkc.recipe.shell_lexer import lex
from sparkc.recipe.shell_tokens import Lexed, Unreadable
from sparkc.record import replace
from sparkc.traced import Traced

_BRACES = pattern(r"\{([^{}\n]+)\}")
_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_-]*")
# A backslash continues a line only right before its end; sparkrun removes blanks between the two.
_BROKEN_END = pattern(r"\\([ \t]+)(?=\n)")
_SPECIAL: dict[Context, str] = {"double": '\\"$`', "heredoc": "\\$`"}


def command_atoms(scalar: Scalar, values: Mapping[str, Traced[str]], report: Report) -> list[Atom] | None:
    """Return the command's characters and placeholders, nested parameters written out.

    A ``{name}`` that no parameter has becomes a placeholder too: :func:`settle` tells text from mistakes once it is
    known where it stands. None after an error, which is about parameters that contain each other.
    """
    atoms = _scan(scalar, values, report)
    nested = {name for name, value in values.items() if any(_inner(value.value, values))}
    if not any(atom.param is not None and atom.param.name in nested for atom in atoms):
        return atoms
    try:
        lexed = lex(atoms, drop_empty_lines=False)
    except Unreadable:
        return atoms  # the parser says what is wrong with the text
    expander = _Expander(values, nested, report)
    expanded: list[Atom] = []
    for index, atom in enumerate(atoms):
        if atom.param is None or atom.param.name not in nested or index in lexed.comments:
            expanded.append(atom)
        else:
            expanded += expander.expand(atom.param, atom.offset, _context(lexed, index), ())
    return None if expander.failed else expanded


def settle(command: Command, values: Mapping[str, Traced[str]], report: Report) -> Command:
    """Report names in the engine's words that no parameter has; elsewhere in a script their braces are text."""
    words = command.words if isinstance(command, Argv) else command.engine
    for word in words:
        for part in word.parts:
            if isinstance(part, Param) and part.name not in values:
                report.error(
                    "SPK152",
                    f"{{{part.name}}} is no parameter of this recipe",
                    part.span,
                    hint=did_you_mean(part.name, values) or f"add {part.name} to defaults",
                )
    if isinstance(command, Argv):
        return command
    return replace(
        command,
        before=_known(command.before, values),
        engine=tuple(_known_word(word, values) for word in command.engine),
        after=_known(command.after, values),
    )


def collapsed(text: str) -> str:
    """Return the value of a parameter as sparkrun reads it: doubled braces are single where ``{{`` occurs."""
    return text.replace("{{", "{").replace("}}", "}") if "{{" in text else text


def _scan(scalar: Scalar, values: Mapping[str, Traced[str]], report: Report) -> list[Atom]:
    text = _without_dangling(scalar.text)
    doubled = "{{" in text
    atoms: list[Atom] = []
    position = 0
    while position < len(text):
        char = text[position]
        if doubled and char in "{}" and text.startswith(char, position + 1):
            atoms.append(Atom(char, position))
            position += 2
            continue
        match = _BRACES.match(text, position) if char == "{" else None
        if match is not None and _is_placeholder(text, match, values):
            atoms.append(Atom("", position, Param(match[1], locate(scalar, position, len(match[0])))))
            position = match.end()
            continue
        atoms.append(Atom(char, position))
        broken = _BROKEN_END.match(text, position) if char == "\\" else None
        if broken is not None:
            report.note(
                "SPK141",
                "blanks between this backslash and the line end were dropped, as sparkrun does",
                locate(scalar, position),
                hint="remove the blanks after the backslash",
            )
            position += len(broken[1])
        position += 1
    return atoms


def _is_placeholder(text: str, match: re.Match[str], values: Mapping[str, Traced[str]]) -> bool:
    """``${NAME}`` is a shell's unless a parameter has the name."""
    if match[1] in values:
        return True
    return _NAME.fullmatch(match[1]) is not None and text[match.start() - 1 : match.start()] != "$"


def _without_dangling(text: str) -> str:
    """A backslash at the end continues nothing."""
    text = text.rstrip()
    while text.endswith("\\") and (len(text) - len(text.rstrip("\\"))) % 2:
        text = text[:-1].rstrip()
    return text


def _context(lexed: Lexed, index: int) -> Context:
    return lexed.contexts.get(index, "words")


def _inner(text: str, values: Mapping[str, Traced[str]]) -> Sequence[re.Match[str]]:
    return [match for match in _BRACES.finditer(text) if match[1] in values]


class _Expander:
    def __init__(self, values: Mapping[str, Traced[str]], nested: set[str], report: Report) -> None:
        self.values = values
        self.nested = nested
        self.report = report
        self.failed = False

    def expand(self, param: Param, offset: int, context: Context, outer: tuple[str, ...]) -> list[Atom]:
        """Return the value of a nested parameter as atoms, escaped for the quotes in which the parameter stands."""
        chain = (*outer, param.name)
        value = self.values[param.name].value
        if context == "words":
            value = value.strip()
        atoms: list[Atom] = []
        position = 0
        for match in _inner(value, self.values):
            atoms += _characters(value[position : match.start()], offset, context)
            position = match.end()
            if match[1] in chain:
                self._report_cycle((*chain[chain.index(match[1]) :], match[1]), param.span)
            elif match[1] in self.nested:
                atoms += self.expand(Param(match[1], param.span), offset, context, chain)
            else:
                atoms.append(Atom("", offset, Param(match[1], param.span)))
        return atoms + _characters(value[position:], offset, context)

    def _report_cycle(self, names: Sequence[str], used: Span) -> None:
        self.failed = True
        span = self.values[names[0]].origin.span
        self.report.error(
            "SPK136",
            f"the value of {names[0]} contains itself: {' → '.join(f'{{{name}}}' for name in names)}",
            span,
            hint="write the value out in one of them",
            related=[Related("used here", used)],
        )


def _characters(text: str, offset: int, context: Context) -> list[Atom]:
    if context == "single":
        text = text.replace("'", "'\\''")
    special = _SPECIAL.get(context, "")
    return [Atom(piece, offset) for char in text for piece in (("\\", char) if char in special else (char,))]


def _known(parts: tuple[Part, ...], values: Mapping[str, Traced[str]]) -> tuple[Part, ...]:
    return tuple(
        Text(f"{{{part.name}}}") if isinstance(part, Param) and part.name not in values else part for part in parts
    )


def _known_word(word: Word, values: Mapping[str, Traced[str]]) -> Word:
    return replace(word, parts=_known(word.parts, values), shell=_known(word.shell, values) if word.shell else None)
