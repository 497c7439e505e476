"""Launch scripts of spark-vllm-docker (``launch-cluster.sh --launch-script FILE``), recognised by their name.

A script runs as it is: expansions, here-documents and braces included. One that is a single simple command becomes
exact argv items like any other command.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkc.diagnostics import Report
from sparkc.patterns import pattern
from sparkc.reading.node import Scalar
from sparkc.reading.source import Source, Span
from sparkc.recipe.engine_command import find_engine
from sparkc.recipe.foreign import file_identity, plain_engine
from sparkc.recipe.model import Argv, Command, Recipe
from sparkc.recipe.shell import parse_command
from sparkc.recipe.word_checks import visible
from sparkc.traced import Traced, from_default

NAME = "launch-script"

_HEADER = pattern(r"#[ \t]*(PROFILE|DESCRIPTION)[ \t]*:[ \t]*(.*?)[ \t]*")
# The launcher's image where neither its command line nor a recipe names one.
_IMAGE = "vllm-node"


def read(source: Source, report: Report) -> Recipe | None:
    """Return the recipe that a script makes; None after an error.

    ``# PROFILE:`` and ``# DESCRIPTION:`` among the comments at its top name and describe it.
    """
    scalar = Scalar(source.text, "plain", source.span(0, len(source.text)))
    parsed = parse_command(scalar, "script", syntax="shell", allow_script=True, report=report)
    if parsed is None:
        return None
    identity = file_identity(source)
    header = dict(_header(source))
    report.note(
        "SPK144",
        f"a launch script names no image: without --image it is {_IMAGE}, as for its launcher",
        Span(source, 1, 1, 1, 1),
        hint="give the image that the nodes have: --image REF",
    )
    return Recipe(
        source=source,
        dialect=NAME,
        title=header.get("PROFILE") or identity.value,
        base_name=identity,
        engine=_engine(parsed.command, report),
        image=Traced(_IMAGE, from_default("launch script's image", "spark-vllm-docker's launcher takes it")),
        command=parsed.command,
        description=header.get("DESCRIPTION", ""),
        env=parsed.env,
    )


def _header(source: Source) -> Iterator[tuple[str, str]]:
    for line in source.text.split("\n"):
        if line.strip() and not line.startswith("#"):
            return
        match = _HEADER.fullmatch(line)
        if match is not None:
            yield match[1], match[2]


def _engine(command: Command, report: Report) -> Traced[str]:
    words = command.words if isinstance(command, Argv) else command.engine
    found = find_engine([visible(word) for word in words])
    return plain_engine(command, report) if found is None else Traced(found.engine, words[found.start].origin)
