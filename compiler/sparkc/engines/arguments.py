"""Reading and changing flags in a list of argv words, by argparse's rules as vLLM uses them.

``--flag value``, ``--flag=value`` and the short ``-tp 2``/``-tp=2`` are the same; in a long name ``_`` means
``-`` up to the first dot (vLLM's FlexibleArgumentParser; TensorRT-LLM's names have only ``_``, so nothing is confused).
A repeated flag counts once: the last one wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparkc.traced import Origin, Traced

Words = tuple[Traced[str], ...]


class Found(NamedTuple):
    """A flag in a word list: where its first word is, how many words it takes, and its value."""

    at: int
    width: int
    flag: Traced[str]
    value: Traced[str] | None


def flag_name(word: str) -> str | None:
    """Return the normalised name of a flag word (``--max_model_len=5`` → ``--max-model-len``), else None."""
    if word[:1] != "-" or word in ("-", "--"):
        return None
    name = word.partition("=")[0]
    if "_" in name and name.startswith("--"):
        head, dot, tail = name.partition(".")
        return head.replace("_", "-") + dot + tail
    return name


def find(words: Sequence[Traced[str]], names: Sequence[str]) -> tuple[Found, ...]:
    """Return every occurrence of a value-taking flag spelled as one of ``names``, in order."""
    wanted = {flag_name(name) for name in names}
    found: list[Found] = []
    for index, word in enumerate(words):
        if word.value[:1] != "-" or flag_name(word.value) not in wanted:
            continue
        if "=" in word.value:
            found.append(Found(index, 1, word, word.with_value(word.value.split("=", 1)[1])))
        elif index + 1 < len(words) and not words[index + 1].value.startswith("--"):
            found.append(Found(index, 2, word, words[index + 1]))
        else:
            found.append(Found(index, 1, word, None))
    return tuple(found)


def last_value(words: Sequence[Traced[str]], names: Sequence[str]) -> Traced[str] | None:
    """Return the value that argparse would keep for a flag, or None when it is absent or has no value."""
    found = find(words, names)
    return found[-1].value if found else None


def last_values(words: Sequence[Traced[str]]) -> dict[str, str]:
    """Return, in one pass, what follows each flag at its last occurrence ("" where nothing does).

    A word list does not say which flags take a value: look up only those that do, or that a flag is there at all.
    """
    values: dict[str, str] = {}
    following = [*(word.value for word in words[1:]), ""]
    for word, after in zip(words, following, strict=False):
        name = flag_name(word.value) if word.value[:1] == "-" else None
        if name is not None:
            _, equals, inline = word.value.partition("=")
            values[name] = inline if equals else after
    return values


def has(words: Sequence[Traced[str]], names: Sequence[str]) -> bool:
    """True when a flag spelled as one of ``names`` occurs."""
    wanted = {flag_name(name) for name in names}
    return any(word.value[:1] == "-" and flag_name(word.value) in wanted for word in words)


def without(words: Words, names: Sequence[str]) -> Words:
    """Return the words without any occurrence of a value-taking flag."""
    dropped = {index for found in find(words, names) for index in range(found.at, found.at + found.width)}
    return tuple(word for index, word in enumerate(words) if index not in dropped) if dropped else words


def with_value(words: Words, names: Sequence[str], value: Traced[str]) -> Words:
    """Return the words with the flag set to ``value``: replaced where it stands, appended where it is absent."""
    found = find(words, names)
    if not found:
        return (*words, value.with_value(names[0]), value)
    changed = list(words)
    for occurrence in found:
        if occurrence.value is None or occurrence.value.value == value.value:
            continue
        new = value.over(occurrence.value)
        if occurrence.width == 2:
            changed[occurrence.at + 1] = new
        else:
            name = occurrence.flag.value.split("=", 1)[0]
            changed[occurrence.at] = Traced(f"{name}={value.value}", new.origin, occurrence.flag)
    return tuple(changed)


def flags(origin: Origin, *texts: str) -> Words:
    """Return literal words that share one origin."""
    return tuple(Traced(text, origin) for text in texts)
