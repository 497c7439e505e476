"""The report of a fault of sparkc itself, ready to be pasted into an issue."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Sequence
from pathlib import Path

from sparkc import __version__


def crash_report(error: BaseException, arguments: Sequence[str]) -> str:
    """Return Markdown with the command, the versions and where sparkc failed.

    Values of ``-e`` and ``--set`` are left out: they may be private.
    """
    frames = "\n".join(
        f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in traceback.extract_tb(error.__traceback__)
    )
    words = [word.partition("=")[0] + "=…" if "=" in word and not word.startswith("--") else word for word in arguments]
    return (
        "sparkc has a fault: this should not happen, whatever the input was.\n"
        "Please report it with the lines below and the input file.\n\n"
        f"```\nsparkc {' '.join(words)}\n"
        f"sparkc {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}\n"
        f"{frames}\n{type(error).__name__}: {error}\n```"
    )
