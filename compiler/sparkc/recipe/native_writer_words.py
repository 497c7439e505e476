"""The words of a foreign command as words of a native recipe, where a placeholder's value never splits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.reading.node import Scalar
from sparkc.reading.source import Source, Span
from sparkc.recipe.model import Param, Part, Text, Word
from sparkc.recipe.native_writer_fields import template
from sparkc.recipe.placeholders import fill_shell, join_atoms, parts_of, scan
from sparkc.recipe.splitting import split_pieces
from sparkc.traced import Origin, Traced, from_rule

Remark = Callable[[Span | None, str], None]

_NOWHERE = Span(Source(""), 1, 1, 1, 1)
_LITERAL = from_rule("braces", "a native recipe would take this text for a placeholder")


class NativeWords:
    """Turns words into native ones, and collects the ``defaults`` that they need.

    ``values`` are the parameters' values. A parameter keeps its name where one value serves all its places in the
    command; elsewhere its value is written out, which ``remark`` is told.
    """

    def __init__(
        self,
        values: Mapping[str, Traced[str]],
        words: Iterable[Sequence[Part]],
        rename: Mapping[str, str],
        remark: Remark,
        *,
        shell: bool = False,
    ) -> None:
        self.values = values
        self.rename = rename
        self.remark = remark
        self.shell = shell
        self.literals: dict[str, Traced[str]] = {}
        self.kept = dict(_kept(values, words, shell))
        self.told: set[str] = set()

    def words(self, word: Word) -> Iterator[Word]:
        """Yield the native words of one word: several, or none, where a value is split."""
        current: list[Part] | None = None
        for piece in self._pieces(word.parts):
            if piece is not None:
                current = [*(current or ()), piece]
            elif current is not None:
                yield self._word(current, word.origin)
                current = None
        if current is not None:
            yield self._word(current, word.origin)

    def parts(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """Return shell text as one native item."""
        return self._protected([piece for piece in self._pieces(parts) if piece is not None])

    def defaults(self) -> dict[str, Traced[str]]:
        """Return the values of the parameters that are left, by native name, with those for literal braces."""
        kept = {self.rename.get(name, name): self.values[name].with_value(value) for name, value in self.kept.items()}
        return {**kept, **self.literals}

    def _pieces(self, parts: Iterable[Part]) -> Iterator[Part | None]:
        """Yield parts with None where a word ends."""
        for part in parts:
            if isinstance(part, Text):
                yield part
            elif part.name not in self.values or self._stays(part):
                yield Param(self.rename.get(part.name, part.name), part.span)
            else:
                value = self.values[part.name].value
                self._tell(part, value)
                yield from (None if text is None else Text(text) for text in _texts(part, value, self.shell))

    def _stays(self, param: Param) -> bool:
        return param.name in self.kept and self.kept[param.name] == _value(param, self.values, self.shell)

    def _tell(self, param: Param, value: str) -> None:
        if param.name not in self.told:
            self.told.add(param.name)
            shown = value if len(value) < 80 else f"{value[:79]}…"
            self.remark(param.span, f"{{{param.name}}} is written out ({shown}): a native placeholder never splits")

    def _word(self, parts: Sequence[Part], origin: Origin) -> Word:
        return Word(self._protected(parts), origin)

    def _protected(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Return parts whose text is read back as these parts: what looks like a placeholder becomes a parameter."""
        safe = [inner for part in _merged(parts) for inner in self._without_placeholders(part)]
        if same(safe):
            return tuple(safe)
        # A brace or a dollar right before a placeholder would make it text.
        return tuple(
            piece
            for part in safe
            for piece in (
                (part,)
                if isinstance(part, Param) or part.text[-1:] not in {"{", "$"}
                else (*((Text(part.text[:-1]),) if part.text[:-1] else ()), self._literal(part.text[-1]))
            )
        )

    def _without_placeholders(self, part: Part) -> Iterator[Part]:
        found = (part,) if isinstance(part, Param) else parts_of(_scalar(part.text), "native", Report())
        for inner in found:
            yield inner if inner is part or isinstance(inner, Text) else self._literal(f"{{{inner.name}}}")

    def _literal(self, text: str) -> Param:
        known = next((name for name, value in self.literals.items() if value.value == text), None)
        if known is None:
            base = {"{": "brace", "$": "dollar"}.get(text) or f"literal_{text[1:-1].replace('.', '_')}"
            taken = {*self.values, *self.rename.values(), *self.literals}
            known = next(name for number in range(len(taken) + 1) if (name := base + "_" * number) not in taken)
            self.literals[known] = Traced(text, _LITERAL)
        return Param(known, _NOWHERE)


def same(parts: Sequence[Part]) -> bool:
    """Return whether the native text of ``parts`` is read back as these parts."""
    atoms = scan(_scalar(template(parts)), "native", Report()) or []
    return _bare(join_atoms(atoms)) == _bare(_merged(parts))


def _kept(values: Mapping[str, Traced[str]], words: Iterable[Sequence[Part]], shell: bool) -> Iterator[tuple[str, str]]:
    """Yield the parameters that stay, each with the value that its first place takes as it is."""
    found: dict[str, list[str | None]] = defaultdict(list)
    for parts in words:
        for part in parts:
            if isinstance(part, Param) and part.name in values:
                found[part.name].append(_value(part, values, shell))
    for name, wanted in found.items():
        value = next((value for value in wanted if value is not None), None)
        if value is not None:
            yield name, value


def _value(param: Param, values: Mapping[str, Traced[str]], shell: bool) -> str | None:
    """Return the one text that stands in the place of a parameter; None where its value makes more or fewer words."""
    texts = _texts(param, values[param.name].value, shell)
    return texts[0] if len(texts) == 1 else None


def _texts(param: Param, value: str, shell: bool) -> list[str | None]:
    """Return what a value puts into the place of its parameter: texts, and None where a word ends.

    ``shell``: the place is in the text of a script, where a value takes quotes along.
    """
    if shell:
        return [fill_shell((param,), {param.name: value}, Report())]
    if param.context == "data":
        return [value]
    if param.context == "json":
        return [json.dumps(value, ensure_ascii=False)[1:-1]]
    pieces = split_pieces(value)
    joined: list[str | None] = []
    for piece in [value] if pieces is None else pieces:
        last = joined[-1] if joined else None
        if piece is not None and last is not None:
            joined[-1] = last + piece
        else:
            joined.append(piece)
    return joined


def _merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, Text) and isinstance(last, Text):
            merged[-1] = Text(last.text + part.text)
        else:
            merged.append(part)
    return tuple(merged) or (Text(""),)


def _bare(parts: Iterable[Part]) -> list[str | tuple[str]]:
    return [part.text if isinstance(part, Text) else (part.name,) for part in parts if part != Text("")]


def _scalar(text: str) -> Scalar:
    return Scalar(text, "quoted", _NOWHERE)
