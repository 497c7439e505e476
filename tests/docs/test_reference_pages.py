"""The reference pages say what the schemas and the code say."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from sparkc.diagnostics.codes import CODES

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)


@pytest.mark.parametrize("page", generate.PAGES)
def test_the_field_tables_are_those_of_the_schemas(page):
    assert (ROOT / page).read_text(encoding="utf-8") == generate.render(page), "run: python docs/generate.py"


def test_every_code_is_explained_once_with_its_title():
    text = (ROOT / "docs/reference/diagnostics.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(SPK\d{3})` \| ([^|]+) \| (.*) \|$", text, re.MULTILINE)
    assert [(code, title.strip()) for code, title, _ in listed] == sorted(CODES.items())
    assert [code for code, _, remedy in listed if not remedy.strip()] == []


def test_links_between_the_pages_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    missing = [
        (page.relative_to(ROOT).as_posix(), target)
        for page in pages
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_command_and_option_is_on_the_command_line_page():
    from importlib import import_module

    from sparkc.cli.main import COMMANDS

    text = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    options = {
        option
        for name in COMMANDS
        for parameter in import_module(f"sparkc.cli.{name}").command.params
        if parameter.param_type_name == "option"
        for option in [*parameter.opts, *parameter.secondary_opts]
    }
    said = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
    assert {f"## sparkc {name}" for name in COMMANDS} <= set(re.findall(r"^## sparkc \w+", text, re.MULTILINE))
    assert sorted(options - said) == []
    assert sorted(said - options - {"--help", "-bash"}) == []
