"""The built-in inventory, for looking at recipes before there is one of your own."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.inventory.load import read_inventory
from sparkc.inventory.model import Inventory
from sparkc.reading.read import read_document
from sparkc.record import replace
from sparkc.resources import read_text

_FILE = "inventory.example.yaml"


def example_inventory() -> Inventory:
    """Return eight Sparks on one switch, ``spark-1`` to ``spark-8``, of kind "example"."""
    report = Report()
    document = read_document(_FILE, read_text("templates", f"project/{_FILE}").encode(), report)
    inventory = read_inventory(document, report) if document is not None else None
    if inventory is None:
        raise AssertionError(report.diagnostics)  # the packaged file is broken: our own fault
    return replace(inventory, kind="example")
