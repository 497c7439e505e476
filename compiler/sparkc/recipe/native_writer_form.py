"""A recipe of any dialect as a native recipe that compiles to the same ranks.

What the foreign dialects do by rules of their own is written out: values that split, arguments that a launcher
removes, an identity beside the served model. What a native recipe cannot say is an error or a remark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.reading.source import Span
from sparkc.recipe.comments import Comment
from sparkc.recipe.model import Argv, EnvValue, Param, Part, Recipe, Script, Text, Word
from sparkc.recipe.native_checks import NODE_PLACEHOLDERS, PLACEHOLDERS
from sparkc.recipe.native_writer_chars import is_visible
from sparkc.recipe.native_writer_model import Start, with_model
from sparkc.recipe.native_writer_words import NativeWords, same
from sparkc.recipe.splitting import split_pieces
from sparkc.recipe.word_checks import visible
from sparkc.record import dataclass, replace
from sparkc.traced import Origin, Traced

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]+")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BACKEND = re.compile(r"--distributed[-_]executor[-_]backend(?P<value>=.*)?", re.DOTALL)
_SHELLS = {"bash", "sh", "dash"}
# Of where a script lies: its text inside `bash -c` has no file.
_OWN_PATH = re.compile(r"\$\{?(0\b|BASH_SOURCE)")


@dataclass(frozen=True)
class NativeForm:
    """The native recipe, and what to tell beside its values; remarks have the form of comments of the source."""

    recipe: Recipe
    remarks: tuple[Comment, ...]


def native_form(recipe: Recipe, start: Start | None, report: Report) -> NativeForm | None:
    """Return the recipe in native terms, or None after an error.

    ``start`` is that of the recipe's engine, None for one whose commands are written out whole.
    """
    return _Form(recipe, start, report).build()


class _Form:
    def __init__(self, recipe: Recipe, start: Start | None, report: Report) -> None:
        self.recipe = recipe
        self.start = start
        self.report = report
        self.remarks: dict[Comment, None] = {}
        self.foreign = recipe.dialect != "native"

    def build(self) -> NativeForm | None:
        recipe = self.recipe
        rename = self._renamed()
        if not self._parameters_usable():
            return None
        parts = _part_groups(recipe)
        words = NativeWords(recipe.defaults, parts, rename, self._remark, shell=isinstance(recipe.command, Script))
        command = self._command(words)
        if command is None:
            return None
        form = replace(
            recipe,
            dialect="native",
            base_name=self._name(),
            description=recipe.description or (recipe.title if recipe.title != recipe.base_name.value else ""),
            command=Argv(command),
            env=self._env(),
            defaults=self._defaults(rename, words),
        )
        if self.foreign:
            form = with_model(form, self.start, self._remark)
        return None if self.report.failed else NativeForm(form, tuple(self.remarks))

    def _remark(self, span: Span | None, text: str) -> None:
        where = span or self.recipe.source.span(0, 0)
        shown = "".join(char if is_visible(char) else char.encode("unicode_escape").decode() for char in text)
        self.remarks.setdefault(Comment(f"# {shown}", where.line, where.column))

    def _refuse(self, message: str, span: Span | None, hint: str) -> None:
        self.report.error("SPK160", message, span, hint=hint)

    def _name(self) -> Traced[str]:
        given = self.recipe.base_name
        if _NAME.fullmatch(given.value) and len(given.value) <= 100:
            name = given
        else:
            safe = re.sub(r"[^A-Za-z0-9._-]", "-", given.value).lstrip("._-")[:100]
            name = given.with_value(safe if len(safe) > 1 else f"recipe-{safe}")
            self._remark(given.origin.span, f"the file's name {given.value!r} is no name of a recipe")
        if self.foreign and self.recipe.description and self.recipe.title != given.value:
            self._remark(given.origin.span, self.recipe.title)
        return name

    def _renamed(self) -> dict[str, str]:
        """Return new names for parameters whose names a native recipe does not take."""
        if not self.foreign:
            return {}
        taken = {*self.recipe.defaults, *PLACEHOLDERS}
        renamed = {}
        for name, value in self.recipe.defaults.items():
            if _PARAMETER.fullmatch(name) and name not in {"rank", "nnodes"}:
                continue
            base = re.sub(r"[^A-Za-z0-9_]", "_", name)
            base = base if _PARAMETER.fullmatch(base) else f"_{base}"
            new = next(text for number in range(len(taken) + 1) if (text := base + "_" * number) not in taken)
            taken.add(new)
            renamed[name] = new
            self._remark(value.origin.span, f"{new} was {name}, which cannot name a parameter here")
        return renamed

    def _parameters_usable(self) -> bool:
        """Report parameters without a value, and values that cannot be split."""
        known = {*self.recipe.defaults, *(() if self.foreign else PLACEHOLDERS)}
        params = [part for parts in _part_groups(self.recipe) for part in parts if isinstance(part, Param)]
        for name, param in {param.name: param for param in params if param.name not in known}.items():
            self._refuse(
                f"{{{name}}} has no value: a native recipe needs a default for every parameter",
                param.span,
                f"add {name}: under defaults, then convert again",
            )
        for param in params:
            value = self.recipe.defaults.get(param.name)
            if value is not None and param.context == "words" and split_pieces(value.value) is None:
                self._refuse(
                    f"the value of {{{param.name}}} opens a quote that it does not close",
                    value.origin.span,
                    "close the quote in the value",
                )
        return not self.report.failed

    def _command(self, words: NativeWords) -> tuple[Word, ...] | None:
        command = self.recipe.command
        if isinstance(command, Argv):
            return self._without_backend([native for word in command.words for native in words.words(word)])
        shell = _shell(command.shebang)
        text = "".join(part.text for part in command.before if isinstance(part, Text))
        if command.engine or self.recipe.engine.value != "plain":
            why = "rank flags go into the engine's command in it, and native arguments pass no shell"
        elif shell is None:
            why = f"it runs under {command.shebang!r}"
        elif _OWN_PATH.search(text):
            why = "it asks for its own path"
        else:
            items = [Word((Text(word),), command.origin) for word in (*shell, "-c")]
            return (*items, Word(words.parts(_ended(command.before)), command.origin))
        self._refuse(
            f"this command needs a shell and stays a script: {why}",
            command.origin.span,
            "compile this file as it is; or reduce its command to one `program --flag value …` without operators and"
            " expansions, and convert again",
        )
        return None

    def _without_backend(self, words: Sequence[Word]) -> tuple[Word, ...]:
        """Drop what spark-vllm-docker's launcher removes unless it is told ``--ray``, which adds the flag here too."""
        if not words or self.recipe.dialect != "spark-vllm-docker" or self.recipe.engine.value == "plain":
            return tuple(words)
        texts = [visible(word) for word in words]
        dropped: set[int] = set()
        valued = True
        for index, text in enumerate(texts):
            match = _BACKEND.fullmatch(text)
            if match is None:
                continue
            separate = match["value"] is None
            valued = not separate or not (texts[index + 1 : index + 2] or ["--"])[0].startswith("--")
            dropped |= {index, index + 1} if separate and valued else {index}
        if not dropped or not valued:  # a last one without its value is not looked at there
            return tuple(words)
        self._remark(
            words[min(dropped)].origin.span, "the executor backend is left out, as its launcher does; --ray adds it"
        )
        return tuple(word for index, word in enumerate(words) if index not in dropped)

    def _env(self) -> dict[str, Traced[EnvValue]]:
        env: dict[str, Traced[EnvValue]] = {}
        for name, traced in self.recipe.env.items():
            if traced.value is None:
                env[name] = traced
                continue
            parts = tuple(self._env_part(name, part, traced.origin) for part in traced.value)
            if not same(parts):
                self._refuse(
                    f"env.{name} holds braces that a native recipe takes for a placeholder",
                    traced.origin.span,
                    f"remove it from the recipe and compile with -e {name}=…, or keep this file",
                )
            env[name] = traced.with_value(parts)
        return env

    def _env_part(self, name: str, part: Part, origin: Origin) -> Part:
        if isinstance(part, Text) or part.name in NODE_PLACEHOLDERS:
            return part
        if part.name in self.recipe.defaults:
            self._remark(origin.span, f"{{{part.name}}} is written out: env takes no parameters")
            return Text(self.recipe.defaults[part.name].value)
        self._refuse(
            f"env.{name} takes {{{part.name}}}, which a native recipe has in its command only",
            origin.span,
            "write the value out, or keep this file",
        )
        return part

    def _defaults(self, rename: Mapping[str, str], words: NativeWords) -> dict[str, Traced[str]]:
        """Return the parameters in the author's order, those for literal braces last.

        What the command does not use stays too, as it does in the original: only parameters that a dialect adds
        by itself go, and those whose values were written out.
        """
        used, native = words.defaults(), {name: rename.get(name, name) for name in self.recipe.defaults}
        unused = {
            native[name]: value
            for name, value in self.recipe.defaults.items()
            if native[name] not in used and name not in words.told and _is_written(name, value)
        }
        order = [name for name in native.values() if name in used or name in unused]
        both = {**unused, **used}
        return {name: both[name] for name in dict.fromkeys((*order, *used))}


def _shell(shebang: str) -> tuple[str, ...] | None:
    """Return the words that start a script's shell, or None for another interpreter; a ``#!`` line has one argument."""
    program, _, argument = shebang.partition(" ")
    words = (program, argument.strip()) if argument.strip() else (program,)
    name = words[1] if program.endswith("/env") and len(words) > 1 else program.rsplit("/", 1)[-1]
    return words if name in _SHELLS else None


def _is_written(name: str, value: Traced[str]) -> bool:
    return value.origin.kind == "file" and value.origin.text.endswith(f": defaults.{name}")


def _part_groups(recipe: Recipe) -> Iterator[Sequence[Part]]:
    command = recipe.command
    if isinstance(command, Argv):
        yield from (word.parts for word in command.words)
    else:
        yield from (command.before, *(word.shell or word.parts for word in command.engine), command.after)


def _ended(parts: Iterable[Part]) -> list[Part]:
    """Return a script's text with one line end, as a bundle writes it."""
    ended = list(parts)
    while ended and isinstance(ended[-1], Text) and not ended[-1].text.rstrip("\n"):
        ended.pop()
    if ended and isinstance(ended[-1], Text):
        ended[-1] = Text(ended[-1].text.rstrip("\n"))
    return [*ended, Text("\n")]
