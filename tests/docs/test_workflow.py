"""The workflow in the guide is the one that ``sparkc init`` writes."""

import re
import textwrap
from pathlib import Path

from sparkc import __version__, resources

GUIDE = Path(__file__).resolve().parents[2] / "docs/how-to/review-a-bundle.md"


def test_the_guide_shows_the_workflow_of_a_new_project():
    (block,) = re.findall(r"```yaml\n(.*?) *```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    place, shown = textwrap.dedent(block).split("\n", 1)
    assert place == "# .github/workflows/sparkc.yaml"
    written = resources.read_text("templates", "project/github-workflow.yaml").replace("{version}", __version__)
    assert shown == written, "put the template's text, with sparkc's version, into the guide"
