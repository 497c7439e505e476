"""Placeholders in text: two brace syntaxes, and the three ways in which a value takes a placeholder's place.

``v1`` is what spark-vllm-docker does with Python's ``str.format``: one left-to-right pass, ``{name}`` is a
placeholder, ``{{`` and ``}}`` are braces. ``native`` knows ``{name}``, ``{node.name}`` and ``{head.address}``;
every other brace is text, so that JSON and Jinja stay as typed. In ``shell`` text all braces are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from sparkc.diagnostics import Report
from sparkc.patterns import pattern
from sparkc.reading.locate import locate
from sparkc.reading.node import Scalar
from sparkc.recipe.model import Argv, Command, Param, Part, Text, Word
from sparkc.recipe.splitting import split_pieces

Syntax = Literal["v1", "native", "shell"]
Context = Literal["data", "words", "single", "double", "heredoc"]

_IDENTIFIER = pattern(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
# `${NAME}` and `{{name}}` are notations of shells and of Jinja: in a native text both stay as typed.
_NATIVE = pattern(
    r"(?P<literal>\$\{|\{\{[A-Za-z_][A-Za-z0-9_.]*\}\})|\{(?P<name>(?:(?:node|head)\.)?[A-Za-z_][A-Za-z0-9_]*)\}"
)
_SAFE_WORD = pattern(r"[A-Za-z0-9_@%+=:,./-]+")


class Atom(NamedTuple):
    """One character of a text, or one placeholder (``char`` is then ""). ``offset`` counts in the scalar's text."""

    char: str
    offset: int
    param: Param | None = None


def scan(scalar: Scalar, syntax: Syntax, report: Report) -> list[Atom] | None:
    """Split a text into characters and placeholders.

    Returns:
        The atoms in order, or None after an error was reported (``v1`` only: braces that are no placeholder).
    """
    if syntax == "shell":
        return [Atom(char, offset) for offset, char in enumerate(scalar.text)]
    return _scan_v1(scalar, report) if syntax == "v1" else _scan_native(scalar)


def parts_of(scalar: Scalar, syntax: Syntax, report: Report) -> tuple[Part, ...]:
    """Return a text that no shell splits (an argv item, an env value) as parts; () after an error."""
    return join_atoms(scan(scalar, syntax, report) or ())


def join_atoms(atoms: Iterable[Atom]) -> tuple[Part, ...]:
    """Merge runs of characters into ``Text`` parts; a text without any atom is one empty ``Text``."""
    parts: list[Part] = []
    run: list[str] = []
    for atom in atoms:
        if atom.param is None:
            run.append(atom.char)
            continue
        if run:
            parts.append(Text("".join(run)))
            run = []
        parts.append(atom.param)
    if run or not parts:
        parts.append(Text("".join(run)))
    return tuple(parts)


def params_of(command: Command) -> Iterator[Param]:
    """Yield every placeholder of a command in reading order, so that unknown names can be reported."""
    if isinstance(command, Argv):
        groups: list[Sequence[Part]] = [word.parts for word in command.words]
    else:
        groups = [command.before, *(word.shell or word.parts for word in command.engine), command.after]
    for parts in groups:
        yield from (part for part in parts if isinstance(part, Param))


def fill(parts: Iterable[Part], values: Mapping[str, str]) -> str:
    """Insert values as data: nothing is split or scanned again. ``values`` must hold every name of ``parts``."""
    return "".join(part.text if isinstance(part, Text) else _data(part, values[part.name]) for part in parts)


def _data(param: Param, value: str) -> str:
    if param.context != "json":
        return value
    import json  # few recipes have parameters inside json_args

    return json.dumps(value, ensure_ascii=False)[1:-1]


def fill_word(word: Word, values: Mapping[str, str], report: Report) -> list[str]:
    """Insert values into one word of an argv.

    A placeholder outside quotes takes part in word splitting: its value may add words, is glued to the text
    beside it, and vanishes when it is empty. A quote that the value does not close is a located error.
    """
    words: list[str] = []
    current: str | None = None
    for part in word.parts:
        if isinstance(part, Text):
            current = (current or "") + part.text
        elif part.context != "words":
            current = (current or "") + _data(part, values[part.name])
        else:
            for piece in _split_value(part, values[part.name], report):
                if piece is not None:
                    current = (current or "") + piece
                elif current is not None:
                    words.append(current)
                    current = None
    if current is not None:
        words.append(current)
    return words


def fill_shell(parts: Iterable[Part], values: Mapping[str, str], report: Report) -> str:
    """Insert values into the text of a script, each escaped for the quotes that it stands in."""
    return "".join(part.text if isinstance(part, Text) else _escape(part, values[part.name], report) for part in parts)


def quote(text: str) -> str:
    """Return ``text`` as one word of POSIX shell source; plain words stay readable."""
    return text if _SAFE_WORD.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def _escape(param: Param, value: str, report: Report) -> str:
    if param.context == "single":
        return value.replace("'", "'\\''")
    if param.context == "double":
        return re.sub(r'([\\"$`])', r"\\\1", value)
    if param.context == "heredoc":
        return re.sub(r"([\\$`])", r"\\\1", value)
    if param.context == "data":
        return value
    return "".join(" " if piece is None else quote(piece) for piece in _split_value(param, value, report))


def _split_value(param: Param, value: str, report: Report) -> list[str | None]:
    pieces = split_pieces(value)
    if pieces is not None:
        return pieces
    report.error(
        "SPK122",
        f"the value of {{{param.name}}} opens a quote that it does not close: {value}",
        param.span,
        hint=f'close the quote, or put the placeholder in quotes ("{{{param.name}}}"): inside quotes a value is data',
    )
    return [value]


def _scan_native(scalar: Scalar) -> list[Atom]:
    atoms: list[Atom] = []
    position = 0
    for match in _NATIVE.finditer(scalar.text):
        atoms.extend(Atom(char, offset) for offset, char in enumerate(scalar.text[position : match.start()], position))
        if match["name"] is None:
            atoms.extend(Atom(char, offset) for offset, char in enumerate(match[0], match.start()))
        else:
            atoms.append(_placeholder(scalar, match["name"], match.start(), match.end()))
        position = match.end()
    atoms.extend(Atom(char, offset) for offset, char in enumerate(scalar.text[position:], position))
    return atoms


def _scan_v1(scalar: Scalar, report: Report) -> list[Atom] | None:
    text = scalar.text
    atoms: list[Atom] = []
    position = 0
    failed = False
    while position < len(text):
        char = text[position]
        if char not in "{}":
            atoms.append(Atom(char, position))
            position += 1
        elif text.startswith(char, position + 1):
            atoms.append(Atom(char, position))
            position += 2
        elif match := _IDENTIFIER.match(text, position):
            atoms.append(_placeholder(scalar, match[1], position, match.end()))
            position = match.end()
        else:
            failed = True
            end = _end_of_braces(text, position)
            _report_braces(scalar, position, end, report)
            position = end
    return None if failed else atoms


def _placeholder(scalar: Scalar, name: str, start: int, end: int) -> Atom:
    return Atom("", start, Param(name, locate(scalar, start, end - start)))


def _end_of_braces(text: str, start: int) -> int:
    """Return the end of the balanced braces at ``start``: one JSON value is one complaint, not one per brace."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth <= 0:
            return position + 1
    return start + 1


def _report_braces(scalar: Scalar, start: int, end: int, report: Report) -> None:
    found = scalar.text[start:end]
    inner = found[1:-1].strip()
    name = re.match(r"[A-Za-z_][A-Za-z0-9_]*", inner)
    if found in {"{", "}"}:
        hint = f"write {found * 2} for a brace that stays a brace"
    elif name is not None and "{" not in inner and '"' not in inner:
        hint = f"write {{{name[0]}}}: a placeholder is a name alone, without format or index"
    elif not inner or inner.isdigit():
        hint = "name a parameter from defaults, or write {{" + inner + "}} for braces that stay braces"
    else:
        hint = "double the braces of JSON ({{ and }}), except around placeholders"
    shown = found if len(found) <= 60 else found[:57] + "..."
    report.error(
        "SPK110",
        f"{shown} is not a placeholder: this format has {{name}}, and {{{{ and }}}} for braces",
        locate(scalar, start, end - start),
        hint=hint,
    )
