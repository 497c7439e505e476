"""A lexer for POSIX shell text (and the common words of bash) that keeps placeholders apart from characters.

It finds where words, operators, comments and here-documents begin and end. It runs nothing and expands
nothing: parameter and command substitutions are kept as text and only counted. Globs, ``~`` and braces are
ordinary characters, because the words go to a container without a shell in between.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkc.recipe.placeholders import Atom, Context
from sparkc.recipe.shell_expansions import balanced_end, expansion_end
from sparkc.recipe.shell_tokens import Lexed, Token, Unreadable, unclosed, with_context

# Longest first; the reserved operators of POSIX 2.2 and bash's additions.
_OPERATORS = ("&>>", "<<<", "<<-", ";;&", "&&", "||", "|&", ";;", ";&", "<<", "<&", "<>", ">>", ">&", ">|", "&>")
_OPERATOR_STARTS = frozenset(";&|<>()")
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_BEFORE_COMMANDS = frozenset({"then", "do", "else", "elif", "if", "while", "until", "{", "!", "in"})
_BLANK_LINE_END = re.compile(r"[ \t]+(\n|\Z)")
_MAX_NESTING = 40  # far more than anybody writes, far less than Python's stack holds
_JOINED_LINE = re.compile(r"[\s\\]*")


def lex(atoms: Sequence[Atom], *, drop_empty_lines: bool) -> Lexed:
    """Split shell text into tokens.

    With ``drop_empty_lines``, lines that hold only blanks and backslashes do not end a command, nor does a
    backslash at the end of the text (spark-vllm-docker removes both before bash sees the text).

    Raises:
        Unreadable: a quote, substitution or array is not closed, or too many are nested.
    """
    lexer = _Lexer(atoms, drop_empty_lines=drop_empty_lines)
    lexer.run(None)
    return lexer.result


class _Lexer:
    def __init__(self, atoms: Sequence[Atom], *, drop_empty_lines: bool) -> None:
        self.result = Lexed(atoms)
        self.text = "".join(atom.char or "\0" for atom in atoms)
        self.drop_empty_lines = drop_empty_lines
        self.position = 0
        self.end = self._trimmed_end() if drop_empty_lines else len(self.text)
        self.heredocs: list[tuple[str, bool, bool]] = []  # delimiter, quoted, tabs stripped
        self.value: list[Atom] = []
        self.expansions: list[int] = []
        self.nesting = 0

    def run(self, closer: str | None) -> None:
        """Read tokens to the end, or to the ``closer`` (")") of a substitution or an array."""
        depth = cases = 0
        opened_at = self.position - 1
        self._drop_lines()
        while self.position < self.end:
            char = self._peek()
            if char in " \t":
                self.position += 1
            elif char == "\\" and self._peek(1) == "\n":
                self._join()
            elif char == "\n":
                self._newline()
            elif char == "#":
                self._comment()
            elif char == ")" and closer and depth == 0 and cases == 0:
                self.position += 1
                return
            elif char in _OPERATOR_STARTS:
                # The bracket behind a pattern of `case` has no partner.
                depth = max(0, depth + {"(": 1, ")": -1}.get(char, 0))
                self._operator(self.position)
            else:
                self._word()
                cases += self._case_step() if closer else 0
        if closer is not None:
            raise unclosed(opened_at, "(")

    # --- between words

    def _peek(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self.text[index] if index < self.end else ""

    def _case_step(self) -> int:
        """Return 1 when the last word opens a ``case``, -1 when it closes one."""
        *before, last = self.result.tokens
        starts_command = not before or before[-1].kind != "word" or before[-1].text in _BEFORE_COMMANDS
        return {"case": 1, "esac": -1}.get(last.text, 0) if starts_command else 0

    def _emit(self, token: Token) -> None:
        self.result.tokens.append(token)

    def _newline(self) -> None:
        self._emit(Token("newline", self.position, self.position + 1, "\n"))
        self.position += 1
        for delimiter, quoted, tabs in self.heredocs:
            self._heredoc(delimiter, quoted=quoted, tabs=tabs)
        self.heredocs = []
        self._drop_lines()

    def _join(self) -> None:
        self.position += 2
        self._drop_lines()

    def _drop_lines(self) -> None:
        if not self.drop_empty_lines:
            return
        while self.position < self.end and (self.position == 0 or self.text[self.position - 1] == "\n"):
            end = self.text.find("\n", self.position, self.end)
            if end < 0 or not _JOINED_LINE.fullmatch(self.text, self.position, end):
                return
            self.result.dropped.update(range(self.position, end + 1))
            self.position = end + 1

    def _comment(self) -> None:
        end = self.text.find("\n", self.position, self.end)
        end = self.end if end < 0 else end
        self.result.comments.update(range(self.position, end))
        self._emit(Token("comment", self.position, end))
        self.position = end

    def _operator(self, start: int) -> None:
        text = next((op for op in _OPERATORS if self.text.startswith(op, self.position)), self._peek())
        self.position += len(text)
        self._emit(Token("operator", start, self.position, text))
        if text in {"<<", "<<-"}:
            while self._peek() in {" ", "\t"}:
                self.position += 1
            if self._peek() and self._peek() not in "\n;&|<>()":
                word = self._word()
                source = self.text[word.start : word.end]
                delimiter = "".join(atom.char for atom in word.value)
                self.heredocs.append((delimiter, any(mark in source for mark in "'\"\\"), text == "<<-"))

    def _heredoc(self, delimiter: str, *, quoted: bool, tabs: bool) -> None:
        context: Context = "data" if quoted else "heredoc"
        while self.position < self.end:
            end = self.text.find("\n", self.position, self.end)
            end = self.end if end < 0 else end
            line = self.text[self.position : end]
            for index in range(self.position, end):
                self.result.contexts[index] = context
            self.position = min(end + 1, self.end)
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return

    def _trimmed_end(self) -> int:
        stripped = self.text.rstrip()
        return len(stripped.rstrip("\\ \t\n") if stripped.endswith("\\") else stripped)

    # --- words

    def _word(self) -> Token:
        outer = self.value, self.expansions
        self.value, self.expansions = [], []
        start = self.position
        bare: int | None = None
        while self.position < self.end:
            char = self._peek()
            if char in " \t\n":
                break
            if char == "(" and _ARRAY.fullmatch("".join(a.char for a in self.value)) and bare is None:
                self.position += 1
                self._nested(self.position - 1)
                continue
            if char in _OPERATOR_STARTS:
                break
            if char in "'\"\\" and bare is None and self._peek(1) != "\n":
                bare = len(self.value)
            self._piece(char)
        text = self.text[start : self.position]
        value, expansions = self.value, self.expansions
        self.value, self.expansions = outer
        token = Token(
            "word", start, self.position, text, tuple(value), len(value) if bare is None else bare, tuple(expansions)
        )
        if text.isascii() and text.isdigit() and self._peek() in {"<", ">"}:
            self._operator(start)  # the number of a file descriptor belongs to the redirection
        else:
            self._emit(token)
        return token

    def _piece(self, char: str) -> None:
        if char == "\\":
            self._backslash()
        elif char == "'":
            self._single()
        elif char == '"':
            self._double()
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "`":
            self._backticks()
        else:
            self._take("words")

    def _take(self, context: Context) -> None:
        """Move one atom into the word; ``context`` is where a placeholder stands in the shell text."""
        atom = self.result.atoms[self.position]
        if atom.param is not None:
            self.result.contexts[self.position] = context
            atom = with_context(atom, "words" if context == "words" else "data")
        self.value.append(atom)
        self.position += 1

    def _backslash(self) -> None:
        following = self._peek(1)
        if following == "\n":
            self._join()
            return
        if _BLANK_LINE_END.match(self.text, self.position + 1, self.end):
            self.result.blank_escapes.append(self.position)
        self.position += 1
        if following:
            self._take("words")

    def _single(self) -> None:
        opened = self.position
        self.position += 1
        while self._peek() != "'":
            if not self._peek():
                raise unclosed(opened, "'")
            self._take("single")
        self.position += 1

    def _double(self) -> None:
        opened = self.position
        self.position += 1
        while (char := self._peek()) != '"':
            if not char:
                raise unclosed(opened, '"')
            if char == "\\" and self._peek(1) and self._peek(1) in '$`"\\\n':
                self.position += 1
                if self._peek() == "\n":
                    self.position += 1
                else:
                    self._take("double")
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._backticks()
            else:
                self._take("double")
        self.position += 1

    # --- what a shell would expand: kept as text

    def _dollar(self, *, quoted: bool) -> None:
        start = self.position
        context: Context = "double" if quoted else "words"
        if self._peek(1) == "\0":
            self.result.dollar_placeholders.append(start)
        if self._peek(1) == "(" and self._peek(2) != "(":
            self.position += 2
            self._nested(start)
            return
        end = expansion_end(self.text, start, self.end, quoted=quoted)
        if end is None:
            self._take(context)
        else:
            self._expansion(start, end, context)

    def _backticks(self) -> None:
        self._expansion(self.position, balanced_end(self.text, self.position, self.end, "`"), "words")

    def _nested(self, start: int) -> None:
        """Read a substitution or an array from behind its opening bracket; its own words get their own contexts."""
        if self.nesting == _MAX_NESTING:
            raise Unreadable(
                "SPK135", start, "substitutions are nested too deep here", "move the inner ones into a script"
            )
        tokens, self.result.tokens = self.result.tokens, []
        outer = self.value, self.expansions
        self.nesting += 1
        self.run(")")
        self.nesting -= 1
        self.result.tokens = tokens
        self.value, self.expansions = outer
        self._expansion(start, self.position, None)

    def _expansion(self, start: int, end: int, context: Context | None) -> None:
        """Keep the source text of an expansion as the word's value; ``context`` None: already recorded."""
        self.expansions.append(start)
        for index in range(start, end):
            atom = self.result.atoms[index]
            if atom.param is not None:
                if context is not None:
                    self.result.contexts[index] = context
                atom = with_context(atom, "data")
            self.value.append(atom)
        self.position = end
