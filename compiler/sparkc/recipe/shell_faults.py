"""What is wrong with a command text, located and with the next thing to type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sparkc.diagnostics import Report, Severity
from sparkc.diagnostics.model import Diagnostic
from sparkc.recipe.command_text import CommandText, visible
from sparkc.recipe.shell_tokens import Lexed, Token
from sparkc.recipe.simple_commands import SimpleCommand, split_assignments
from sparkc.record import dataclass

# Words that only a shell understands, where they start a command.
_BUILTINS = frozenset(
    (".", "source", "eval", "command", "builtin", "export", "cd", "set", "ulimit", "umask", "trap", "wait", "time", "!")
)
_BARE_JSON = re.compile(r"(?:.*=)?[\[{]")
_ESCAPED_BLANK = re.compile(r"\\[ \t]+[^ \t]")
_AS_LIST = "a native command runs without a shell: write it as a list that names one, [bash, -c, '…']"


@dataclass(frozen=True)
class Need:
    """Something that only a shell can do, with its code, its place (atom indices) and its wording."""

    code: str
    start: int
    end: int
    message: str


def needs(text: CommandText, lexed: Lexed, commands: Sequence[SimpleCommand]) -> Iterator[Need]:
    """Yield everything in the text that only a shell can do, except line ends between commands."""
    for token in lexed.tokens:
        if token.kind == "operator":
            yield Need("SPK112", token.start, token.end, f"`{token.text}` is a shell operator")
        for start in token.expansions:
            shown = "".join(atom.char for atom in text.atoms[start : min(start + 24, token.end)])
            yield Need("SPK116", start, token.end, f"`{shown}` is expanded by a shell")
    for command in commands:
        assignments, words = split_assignments(command.words)
        if text.syntax == "shell":
            # Other dialects say that no shell reads their words; here one does, and home is the container's.
            yield from _homes(words, assignments)
        if words and visible(words[0]) in _BUILTINS:
            yield Need("SPK117", words[0].start, words[0].end, f"`{words[0].text}` is a command of the shell itself")


def _homes(words: Sequence[Token], assignments: Sequence[Token]) -> Iterator[Need]:
    starts = [(word, 0) for word in words] + [(word, word.text.index("=") + 1) for word in assignments]
    for word, start in starts:
        if word.text.startswith("~", start) and word.bare > start:
            yield Need("SPK116", word.start, word.end, "`~` is expanded by a shell")


def report_needs(text: CommandText, found: Sequence[Need], report: Report) -> None:
    """Report as errors what a native command cannot have: the first of each kind, they share one remedy."""
    seen: set[str] = set()
    for need in found:
        if need.code not in seen:
            seen.add(need.code)
            literal = {
                "SPK112": "; if the character itself is meant, put it in quotes",
                "SPK116": "; if the characters themselves are meant, put them in single quotes",
            }
            report.error(
                need.code,
                f"{need.message}, and no shell reads this command",
                text.span(need.start, need.end),
                hint=_AS_LIST + literal.get(need.code, ""),
            )


def report_line_ends(
    text: CommandText, lexed: Lexed, commands: Sequence[SimpleCommand], *, strict: bool, report: Report
) -> bool:
    """Report line ends that cut a command in two; return whether there is one.

    ``strict`` (native): every second command is a fault. Otherwise only one that starts with ``-`` is, because
    bash would run ``--flag`` as a program.
    """
    broken = False
    in_case = False
    for previous, command in pairwise(commands):
        first, last = command.words[0], previous.words[-1]
        in_case = (in_case or previous.words[0].text == "case") and first.text != "esac"
        if any(token.kind == "operator" for token in command.before):
            continue
        if not strict and (in_case or not first.text.startswith("-")):
            continue
        broken = True
        if any(last.start <= index < last.end for index in lexed.blank_escapes):
            continue  # reported as that
        shown = first.text.split("\0")[0]
        comment = next((token for token in command.before if token.kind == "comment"), None)
        if comment is not None:
            report.error(
                "SPK113",
                f"a comment ends the command here: {shown} and what follows would be a command of its own",
                text.span(comment.start, comment.end),
                hint="move the comment above the command, or to a YAML comment above the key",
            )
        else:
            report.error(
                "SPK114",
                f"the command ends at this line end, without a backslash: {shown} would be a command of its own",
                text.span(last.start, last.end),
                hint=f"end this line with a backslash: {_tail(last.text)} \\" + (f"; {_AS_LIST}" if strict else ""),
            )
    return broken


def report_escapes(text: CommandText, lexed: Lexed, report: Report) -> None:
    """Report backslashes that do something else than their author meant."""
    for index in lexed.blank_escapes:
        report.error(
            "SPK115",
            "blanks follow this backslash, so it does not continue the line",
            text.span(index, index + 1),
            hint="remove the blanks after the backslash",
        )
    for index in lexed.dollar_placeholders:
        name = text.atoms[index + 1].param
        assert name is not None  # noqa: S101 - the lexer has seen a placeholder there
        report.error(
            "SPK126",
            f"${{{name.name}}} is a `$` and the parameter {name.name} in this format, not a shell variable",
            text.span(index, index + 2),
            hint=f"write ${{{{{name.name}}}}} for the variable, or {{{name.name}}} for the parameter",
        )


def report_words(text: CommandText, words: Sequence[Token], report: Report) -> None:
    """Report words of an argv that quoting has turned into something that nobody means."""
    for word in words:
        if word.text[word.bare : word.bare + 1] == '"' and _BARE_JSON.fullmatch(word.text[: word.bare]):
            # {"a":1} becomes {a:1}
            report.error(
                "SPK123",
                "this JSON stands outside quotes, so its own quotes are taken for the shell's and vanish",
                text.span(word.start, word.end),
                hint="put single quotes around the whole value",
            )
        elif _ESCAPED_BLANK.match(word.text):
            report.error(
                "SPK124",
                f"the backslash puts a blank in front of {visible(word).strip()}",
                text.span(word.start, word.start + 1),
                hint="remove the backslash: in a folded text (>) and within a line nothing has to be continued",
            )


def script_warning(text: CommandText, need: Need | None, second: Token | None) -> Diagnostic:
    """Return the one warning of a text that is kept as a script: what needs a shell, and where."""
    if need is None and second is not None:
        need = Need("SPK119", second.start, second.end, "a second command starts here")
    assert need is not None  # noqa: S101 - otherwise the text is one simple command
    return Diagnostic(
        "SPK119",
        Severity.WARNING,
        f"this command is kept as a script: {need.message}",
        text.span(need.start, need.end),
        "a script cannot be checked word by word; one simple command without shell syntax becomes an exact argv",
    )


def _tail(text: str) -> str:
    return text if len(text) <= 30 else "…" + text[-29:]
