"""Secrets on their way to a node: from the environment or a file here into a 0600 file there, and nowhere else.

A value is never an argument, never in a bundle, a message or a log. compose.yaml reads the file raw: every value is
the rest of its line, with quotes, ``$`` and ``#`` as they are.
"""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkc.bundle.manifest import sha256
from sparkc.errors import SparkcError
from sparkc.record import dataclass, field

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Secrets:
    """The values of a bundle's secrets by name; their text never shows in a ``repr``."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """The file that Compose reads, empty without secrets."""
        return "".join(f"{name}={value}\n" for name, value in self.values.items())

    @property
    def sha256(self) -> str | None:
        """The hash of the file, to compare it with what a node has; None without secrets."""
        return sha256(self.text.encode()) if self.values else None


def find_secrets(names: Sequence[str], environment: Mapping[str, str], file: Path | None) -> Secrets:
    """Return the values of ``names``, from ``file`` if one is given, else from the environment.

    Raises:
        SparkcError: some have no value (all are named), a value cannot stand in a line, or the file is open to others.
    """
    source = environment if file is None else read_secrets_file(file)
    missing = [name for name in names if not source.get(name)]
    if missing:
        raise SparkcError(
            f"no value for the secret{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            hint=f"add {'them' if len(missing) > 1 else 'it'} to {file}, as NAME=VALUE"
            if file is not None
            else f"export {missing[0]}=… in this shell, or use --secrets-file FILE (a NAME=VALUE a line, chmod 600)",
        )
    for name in names:
        if not all(character.isprintable() or character == "\t" for character in source[name]):
            raise SparkcError(
                f"the secret {name} holds a line break or another invisible character, which an env file cannot keep",
                hint=f"give {name} as one line of visible characters; mount a key file (mounts: in the recipe)",
            )
    return Secrets({name: source[name] for name in names})


def read_secrets_file(file: Path) -> dict[str, str]:
    """Return the NAME=VALUE lines of a file; values are raw, empty lines and those that begin with ``#`` are skipped.

    Raises:
        SparkcError: it cannot be read, others than its owner may use it, or a line is not such a line.
    """
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SparkcError(f"cannot read {file}: {error.strerror}", hint="name a file with --secrets-file") from error
    except UnicodeDecodeError as error:
        raise SparkcError(f"{file} is not UTF-8", hint="save it as UTF-8") from error
    if stat.S_ISREG(mode) and mode & _OTHERS:
        raise SparkcError(f"others than its owner may use {file}", hint=f"chmod 600 {shlex.quote(str(file))}")
    values: dict[str, str] = {}
    # Lines may end as on Windows; every other character belongs to the value.
    for number, line in enumerate((line.removesuffix("\r") for line in text.split("\n")), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, value = _assignment(f"{file}:{number}", line)
            if name in values:
                raise SparkcError(f"{file}:{number}: {name} is there twice", hint="remove one of the two lines")
            values[name] = value
    return values


def _assignment(place: str, line: str) -> tuple[str, str]:
    """Return the name and the value of a line. The line may be a secret: messages tell its number alone."""
    name, equals, value = line.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise SparkcError(f"{place}: not NAME=VALUE", hint="write NAME=VALUE, without export and without spaces")
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        raise SparkcError(
            f"{place}: the value of {name} stands in quotes, which would be part of it",
            hint=f"remove the quotes; if they do belong to it, give {name} through the environment",
        )
    return name, value
