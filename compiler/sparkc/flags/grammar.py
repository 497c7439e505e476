"""Reading a command line as argparse does: which option each word is, and which values it takes.

argparse decides word by word whether something is an option, before it looks at what the option before it wants;
a value that begins with a dash is therefore lost to its option (https://docs.python.org/3/library/argparse.html).
vLLM's parser rewrites the words first: ``_`` in names, ``-O3``, and dotted keys, which become JSON. SGLang's does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparkc.diagnostics.suggest import did_you_mean
from sparkc.engines.arguments import Words
from sparkc.flags import dumps
from sparkc.flags.dumps import Dump, Option
from sparkc.flags.findings import Findings
from sparkc.flags.replacements import REPLACEMENTS
from sparkc.record import dataclass
from sparkc.traced import Traced

_LEVELS = frozenset("0123")


@dataclass(frozen=True)
class Use:
    """An option as it is used once.

    ``spelling`` is the option's name as argparse understands the word; ``keys`` are those of ``--x.key.key value``.
    """

    option: Option
    spelling: str
    flag: Traced[str]
    values: Words
    keys: tuple[str, ...] = ()

    @property
    def value(self) -> Traced[str] | None:
        """The value of an option that takes one."""
        return self.values[0] if self.values else None

    @property
    def off(self) -> bool:
        """True for the negative form of a switch."""
        return self.spelling in self.option.off


@dataclass(frozen=True)
class _Read:
    """What a word is: an option with perhaps a value after ``=``, or an option that does not exist."""

    spelling: str | None
    inline: Traced[str] | None = None


class CommandLine:
    """The uses of options in one command, and the model if it stands by itself."""

    def __init__(self, findings: Findings, words: Words, *, positional: bool) -> None:
        self._findings = findings
        self._dump: Dump = findings.dump
        self._vllm = self._dump.engine == "vllm"
        # Until 0.11, -O3 was short for --compilation-config.level 3.
        self._short_level = self._vllm and "-O" in self._dump.spellings
        self.words = words
        self.positional = positional
        self.model: Traced[str] | None = None
        self.uses: list[Use] = []
        rest = self._pull_dotted(self._pull_model(words)) if self._vllm else words
        self._walk(rest, room=positional and self.model is None)

    @property
    def begins_with_option(self) -> bool:
        """True where the first word is no model."""
        return bool(self.words) and self.words[0].value.startswith("-")

    def last(self, name: str) -> Use | None:
        """Return the use that counts of an option, by any of its names: versions differ in which is the primary one."""
        primary = self._dump.spellings.get(name, name)
        return next((use for use in reversed(self.uses) if use.option.name == primary and not use.keys), None)

    def value(self, name: str) -> Traced[str] | None:
        """Return an option's value that counts."""
        use = self.last(name)
        return use.value if use is not None else None

    def switch(self, name: str) -> Traced[str] | None:
        """Return the word that switches an option on, or None when it is absent or off in the end."""
        use = self.last(name)
        return use.flag if use is not None and not use.off else None

    # What vLLM does before argparse sees the words

    def _pull_model(self, words: Words) -> Words:
        """Take the first ``--model`` and whatever stands behind it for the model, which leaves room for no other."""
        for index, word in enumerate(words):
            name, equals, inline = word.value.partition("=")
            option = self._dump.option(name) if name == "--model" else None
            if option is None or not (equals or index + 1 < len(words)):
                continue
            self.model = word.with_value(inline) if equals else words[index + 1]
            self.uses.append(Use(option, name, word, (self.model,)))
            return words[:index] + words[index + (1 if equals else 2) :]
        return words

    def _pull_dotted(self, words: Words) -> Words:
        """Take ``--x.key value`` out of the words: vLLM does so before it looks at anything else."""
        rest: list[Traced[str]] = []
        index = 0
        while index < len(words):
            word = words[index]
            name, equals, inline = word.value.partition("=")
            index += 1
            if word.value == "-O" and index < len(words) and words[index].value in _LEVELS:
                word = word.with_value(f"-O{words[index].value}")
                index += 1
            if self._short_level and word.value[:2] == "-O" and word.value[2:3] not in ("", "."):
                self._dotted(word, "-O.level", word.with_value(word.value[2:].removeprefix("=")))
                continue
            if not name.startswith("-") or "." not in name:
                rest.append(word)
                continue
            if equals:
                value: Traced[str] | None = word.with_value(inline)
            else:
                value = words[index] if index < len(words) else None
                index += 1
            self._dotted(word, name, value)
        return tuple(rest)

    def _dotted(self, word: Traced[str], name: str, value: Traced[str] | None) -> None:
        base, _, path = _dashed(name).partition(".")
        if _is_negative_number(name):
            self._findings.wrong(
                "SPK816",
                f"vLLM takes {name} for a dotted key and swallows the next word"
                + (f" ({value.value})" if value is not None else ""),
                word,
                hint=f"write it with an equals sign: --flag={name}",
            )
            return
        spelling = self._resolve(word, base)
        option = self._dump.option(spelling or "")
        if option is None or spelling is None:
            return  # reported
        if value is None:
            self._missing(word, name)
        elif not option.kind.startswith("json"):
            self._findings.wrong(
                "SPK807",
                f"{name}: {option.name} takes no dotted keys, its value is not JSON",
                word,
                hint=f"write {option.name} {value.value}",
            )
        else:
            self.uses.append(Use(option, spelling, word, (value,), tuple(path.split("."))))

    # Words

    def _walk(self, words: Words, *, room: bool) -> None:
        reads = [self._read(word) for word in words]
        index = 0
        after: Use | None = None
        while index < len(words):
            read = reads[index]
            if read is None:
                self._positional(words[index], after, room=room and self.model is None)
                index += 1
                continue
            follow = _count(reads[index + 1 :])
            option = self._dump.option(read.spelling) if read.spelling is not None else None
            if option is None or read.spelling is None:
                # What follows an unknown flag is most likely its value.
                index += 1 + follow
                after = None
                continue
            taken = self._take(option, read, words[index], words[index + 1 : index + 1 + follow])
            after = self.uses[-1] if self.uses and self.uses[-1].flag is words[index] else None
            index += 1 + taken

    def _take(self, option: Option, read: _Read, word: Traced[str], following: Words) -> int:
        """Record the use and return how many of the following words are its values."""
        spelling = str(read.spelling)
        if option.kind == "switch":
            if read.inline is not None:
                self._value_of_switch(word, option, spelling, read.inline)
            self.uses.append(Use(option, spelling, word, ()))
            return 0
        if read.inline is not None:
            self.uses.append(Use(option, spelling, word, (read.inline,)))
            return 0
        most = {None: 1, "?": 1}.get(option.nargs, len(following))
        values = following[:most]
        if not values and option.nargs in (None, "+"):
            self._missing(word, spelling)
            return 0
        self.uses.append(Use(option, spelling, word, values))
        return len(values)

    def _read(self, word: Traced[str]) -> _Read | None:
        """Return what an option word is, or None for a value."""
        text, known = word.value, self._dump.spellings
        if not text.startswith("-") or len(text) < 2:
            return None
        name, equals, rest = (_dashed(text) if self._vllm else text).partition("=")
        inline = word.with_value(rest) if equals else None
        if self._vllm and text[:2] == "-O" and len(text) > 2:
            return _Read("--optimization-level", word.with_value(text[2:].removeprefix("=")))
        if name in known:
            return _Read(name, inline)
        if not name.startswith("--") and name[:2] in known:
            return _Read(name[:2], word.with_value(text[2:]))
        # argparse looks for a long option that begins with what stands before =, and for a short one with all of it.
        start = name if name.startswith("--") else text
        if _is_negative_number(text) or (" " in text and not self._dump.starting_with(start)):
            return None
        return _Read(self._resolve(word, start), inline)

    def _resolve(self, word: Traced[str], name: str) -> str | None:
        """Find an option by its name or the beginning of its name; None is reported."""
        if name in self._dump.spellings:
            return name
        candidates = self._dump.starting_with(name)
        if len({self._dump.spellings[candidate] for candidate in candidates}) > 1:
            self._findings.wrong(
                "SPK805",
                f"{name} is short for several options of {self._findings.basis.name}: {_listed(candidates)}",
                word,
                hint=REPLACEMENTS.get((self._dump.engine, name), "write the full name"),
            )
            return None
        if not candidates:
            self._unknown(word, name)
            return None
        full = min(candidates, key=len)
        self._findings.doubtful(
            "SPK804",
            f"{name} is only an abbreviation of {full}, which a new option of that beginning would break",
            word,
            hint=f"write {full}",
        )
        return full

    # Faults

    def _positional(self, word: Traced[str], after: Use | None, *, room: bool) -> None:
        if room:
            self.model = word
        elif after is not None and after.option.kind == "switch":
            self._value_of_switch(after.flag, after.option, after.spelling, word)
        else:
            behind = f" after {after.spelling}" if after is not None else ""
            self._findings.wrong(
                "SPK808",
                f"{self._findings.basis.name} does not expect the argument {_short(word.value)}{behind}",
                word,
                hint="quote a value that holds blanks, or remove it",
            )

    def _value_of_switch(self, word: Traced[str], option: Option, spelling: str, value: Traced[str]) -> None:
        off = value.value.lower() in ("false", "0", "off", "no")
        negative = next((name for name in option.off if name.startswith("--no-")), None)
        self._findings.wrong(
            "SPK807",
            f"{spelling} is a switch and takes no value, got {_short(value.value)}",
            word,
            hint=f"write {negative} alone" if off and negative else f"{'remove' if off else 'write'} {spelling} alone",
        )

    def _missing(self, word: Traced[str], spelling: str) -> None:
        self._findings.wrong(
            "SPK806",
            f"{spelling} has no value",
            word,
            hint="write its value after it; a value that begins with a dash needs an equals sign",
        )

    def _unknown(self, word: Traced[str], name: str) -> None:
        basis, dump = self._findings.basis, self._dump
        if name in self._findings.brought:
            return
        life = dumps.lifetime(dump.engine, name)
        before = [version for version in life if dumps.newer(basis.known, version)]
        later = [version for version in life if dumps.newer(version, basis.known)]
        if before:
            self._findings.unknown(
                "SPK802",
                f"{basis.name} no longer has {name}: {dumps.departure(dump.engine, before[-1])}",
                word,
                hint=REPLACEMENTS.get((dump.engine, name), "remove it"),
                known=lambda other: name in other.spellings,
            )
            return
        message = f"{basis.name} has no option {name}"
        if later:
            message += f" yet: {later[0]} has it"
        self._findings.unknown(
            "SPK801", message, word, hint=self._nearest(name), known=lambda other: name in other.spellings
        )

    def _nearest(self, name: str) -> str | None:
        known_hint = REPLACEMENTS.get((self._dump.engine, name))
        if known_hint is not None:
            return known_hint
        glued = re.fullmatch(r"(-[a-zA-Z]+)(\d+)", name)
        if glued is not None and glued[1] in self._dump.spellings:
            return f"write {glued[1]} {glued[2]}: a short option of several letters needs a blank or ="
        if name.replace("_", "-") in self._dump.spellings:
            return f"write {name.replace('_', '-')}: this engine does not read _ as -"
        negative = name.startswith(("--no-", "--disable-"))
        return did_you_mean(name, self._dump.spellings if negative else self._dump.names())


def _is_negative_number(text: str) -> bool:
    """What argparse takes for a value although it begins with a dash; no regular expression, as each costs 0.3 ms."""
    whole, dot, fraction = text.removeprefix("-").partition(".")
    return (fraction.isdecimal() and (not whole or whole.isdecimal())) if dot else whole.isdecimal()


def _dashed(name: str) -> str:
    """Apply vLLM's reading of ``_`` in a long option's name, up to the first dot and before ``=``."""
    if not name.startswith("--") or "_" not in name:
        return name
    head, equals, value = name.partition("=")
    base, dot, path = head.partition(".")
    return base.replace("_", "-") + dot + path + equals + value


def _count(reads: Sequence[_Read | None]) -> int:
    """Return how many values stand in front of the next option."""
    return next((index for index, read in enumerate(reads) if read is not None), len(reads))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)[:4]) + (", …" if len(names) > 4 else "")


def _short(value: str) -> str:
    return repr(value) if len(value) <= 40 else f"{value[:37]!r}..."
