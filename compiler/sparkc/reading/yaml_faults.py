"""What the YAML parser's complaints mean to the author of the file.

libyaml and PyYAML's own parser word the same fault differently and often blame the place where they gave up,
lines below the cause. Each known complaint is put in the user's terms and at the place to mend.
"""

from __future__ import annotations

import re
from typing import Any

from sparkc.diagnostics.model import Report
from sparkc.reading.pasted_space import PASTED, report_pasted
from sparkc.reading.source import Source, Span
from sparkc.record import dataclass


@dataclass(frozen=True)
class _Fault:
    part: str  # a part of the parser's complaint
    message: str
    hint: str
    at_start: bool = False  # blame where the construct starts (context mark), not where the parser gave up


_ALIGN = "start it in the same column as its neighbours; a value with quotes inside must be quoted as a whole"
_ESCAPE = "write \\\\ for a backslash, or use single quotes"
_BLOCK = "start the text of a | or > block on the next line"
_FAULTS = (
    _Fault(
        "mapping values are not allowed",
        "': ' where no key can stand",
        "quote the value if it holds ': ', else check the indentation",
    ),
    _Fault(
        "could not find expected ':'",
        "this is no 'key: value' line",
        "put a colon and a space after the key, and indent text that continues a value",
        at_start=True,
    ),
    _Fault("' or ']'", "this list is not closed", "add ']' after its last item, commas between items", at_start=True),
    _Fault("' or '}'", "this mapping is not closed", "add '}' after its last entry, commas between", at_start=True),
    _Fault("expected key", "this fits neither the key above nor a new one", _ALIGN),
    _Fault("expected '-' indicator", "this fits neither the list above nor a new item", _ALIGN),
    _Fault("expected <block end>", "this fits neither the line above nor a new key", _ALIGN),
    _Fault("unexpected end of stream", "this quote is not closed", "add the closing quote", at_start=True),
    _Fault("unexpected document", "this quote is not closed before '---'", "add the closing quote", at_start=True),
    _Fault("unknown escape", "unknown escape in double quotes", _ESCAPE),
    # libyaml misspells the word, PyYAML does not
    _Fault("hexdecimal", "an escape in double quotes lacks hexadecimal digits", _ESCAPE),
    _Fault("hexadecimal", "an escape in double quotes lacks hexadecimal digits", _ESCAPE),
    _Fault(
        "Unicode character escape",
        "an escape in double quotes is no Unicode character",
        "write the character itself, or \\U and eight digits",
    ),
    _Fault("sequence entries", "a list item cannot start here", "put '- ' on a line of its own, below the key"),
    _Fault("node content", "a value is missing here", "write the value, or quote it if it starts with one of , ] }"),
    _Fault("comment or line break", "only a comment may follow on this line", _BLOCK),
    _Fault("chomping or indentation", "only a comment may follow on this line", _BLOCK),
    _Fault("<document start>", "nothing may follow the end of the document", "remove the '...' line"),
    _Fault("alphabetic or numeric", "an anchor or alias without a valid name", "quote a value that starts with & or *"),
    _Fault("incompatible YAML document", "this YAML version is not supported", "remove the %YAML line"),
    _Fault(
        "directive", "this % line is no YAML directive", "quote the value if it starts with %, else remove the line"
    ),
)

_KEY_WITH_PASTED_SPACE = re.compile(
    rf"[ ]*(?:- +)?(?:[^\s:#\"']+:(?P<after>[{PASTED}])|(?P<before>[{PASTED}])[\s{PASTED}]*[^\s:#\"']+:)"
)


def explain(error: Any, source: Source, report: Report) -> None:
    """Report a ``yaml.YAMLError`` of the parser."""
    problem = str(getattr(error, "problem", None) or error)
    mark = getattr(error, "problem_mark", None)
    start = getattr(error, "context_mark", None) or mark
    if mark is None or start is None:
        report.error("SPK004", problem, Span(source, 1, 1, 1, 1), hint="check the file with a YAML linter")
        return
    if _report_pasted_space(source, start.line, mark.line, report):
        return
    if "nesting depth" in problem:
        hint = "no sparkc document needs that; quote the text if the brackets belong to a value"
        report.error("SPK010", "nested more than 64 levels deep", _span(source, mark), hint=hint)
        return
    if "tag" in problem:
        hint = "quote the value if it starts with '!', else remove the tag"
        report.error("SPK011", "this YAML tag is not supported", _span(source, mark), hint=hint)
        return
    if "cannot start any token" in problem or "tab character" in problem:
        _report_bad_start(source, mark, report)
        return
    fault = next((fault for fault in _FAULTS if fault.part in problem), None)
    if fault is None:
        report.error("SPK004", problem, _span(source, mark), hint="quote the value if it is meant as text")
    else:
        report.error("SPK004", fault.message, _span(source, start if fault.at_start else mark), hint=fault.hint)


def _report_pasted_space(source: Source, first: int, last: int, report: Report) -> bool:
    """Report a pasted space on the lines (0-based) that the parser could not make sense of."""
    found = False
    for number in range(first, last + 1):
        line = source.line(number + 1)
        match = None if line.isascii() else _KEY_WITH_PASTED_SPACE.match(line)
        if match is not None:
            group = "after" if match["after"] else "before"
            column = match.start(group) + 1
            place = Span(source, number + 1, column, number + 1, column + 1)
            report_pasted(
                match[group], place, "after a key's colon" if match["after"] else "in front of a word", report
            )
            found = True
    return found


def _report_bad_start(source: Source, mark: Any, report: Report) -> None:
    span = _span(source, mark)
    char = source.line(span.line)[span.column - 1 : span.column]
    if char == "\t" or "\t" in source.line(span.line)[: span.column]:
        column = source.line(span.line).index("\t") + 1
        place = Span(source, span.line, column, span.line, column + 1)
        report.error(
            "SPK005", "a tab indents this line; YAML allows only spaces", place, hint="replace the tab by spaces"
        )
        return
    report.error("SPK004", f"an unquoted text cannot start with {char!r}", span, hint="put the whole text in quotes")


def _span(source: Source, mark: Any) -> Span:
    """Return the one-character place of a mark; at the end of a file marks may lie past the last line."""
    line = min(mark.line + 1, source.last_line)
    width = len(source.line(line))
    column = min(mark.column if mark.line + 1 == line else width, width) + 1
    return Span(source, line, column, line, min(column + 1, width + 1))
