"""What is sent to a node: one bash script on ssh's standard input, with its values quoted into it.

The remote command is always ``bash --norc --noprofile -s``. The login shell, which may be fish or print a greeting,
never sees a path, a name or a secret; nothing of a script stands in a process list; no limit of an argument's length
applies. The answer is cut into named sections by a mark that no output can foresee: what a login shell prints before
the first mark is kept apart as stray text (https://github.com/rust-lang/rustup/issues/498).
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping, Sequence

from sparkc import resources
from sparkc.record import dataclass

SHELL = "bash --norc --noprofile -s"
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_BEGIN = "begin"
_END = "end"

Value = str | Sequence[str]


@dataclass(frozen=True)
class Script:
    """A script ready to be sent. ``mark`` begins the lines that cut its output; ``name`` is for errors."""

    name: str
    text: str
    mark: str


@dataclass(frozen=True)
class Reply:
    """What a script answered: its sections by name, its own exit code, and what the login shell printed before."""

    sections: Mapping[str, str]
    code: int
    stray: str


def node_script(name: str, **values: Value) -> Script:
    """Return ``scripts/<name>.sh`` with ``values`` as bash variables; a sequence becomes an array.

    Scripts use ``section NAME`` before what belongs to a section. They see no standard input but that on
    descriptor 3, which is what follows the script (see :meth:`sparkc.runner.ssh.Connection.keep`).
    """
    mark = f"sparkc-{secrets.token_hex(8)}"
    assignments = [_assignment(key, value) for key, value in {"MARK": mark, **values}.items()]
    prelude = resources.read_code("runner/scripts/prelude.sh")
    body = resources.read_code(f"runner/scripts/{name}.sh")
    # bash reads a whole function before it runs it: a connection lost half-way runs nothing.
    text = "\n".join([*assignments, prelude, "main() {", body, "}", "main 3<&0 </dev/null; exit", ""])
    return Script(name, text, mark)


def parse_reply(script: Script, output: str) -> Reply | None:
    """Return what ``output`` says, or None if it is cut off: the script did not reach its end."""
    stray, *parts = re.split(rf"^{script.mark} (.*)\n", output, flags=re.MULTILINE)
    names, texts = parts[0::2], parts[1::2]
    if not names or names[0] != _BEGIN or not names[-1].startswith(f"{_END} "):
        return None
    # `section` starts a line of its own, whatever was printed before it.
    sections = {name: text[:-1] for name, text in zip(names[:-1], texts[:-1], strict=True)}
    del sections[_BEGIN]
    return Reply(sections, int(names[-1].removeprefix(f"{_END} ")), stray)


def _assignment(name: str, value: Value) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a variable of a node script: {name!r}")
    if isinstance(value, str):
        return f"{name}={shlex.quote(value)}"
    return f"{name}=({' '.join(shlex.quote(item) for item in value)})"
