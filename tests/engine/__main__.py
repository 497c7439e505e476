"""``python -m tests.engine``: make what the tests of the real engine need, unless it is there."""
# ruff: noqa: T201 - a command line prints

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the lab's package, as in pytest

from lab.requirements import why_not
from lab.system import LabError

from .image import engine

if (reason := why_not()) is not None:
    sys.exit(reason)
try:
    print(f"{engine().tag} and its engine are ready")
except LabError as error:
    sys.exit(str(error))
