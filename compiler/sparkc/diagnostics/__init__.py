"""Diagnostics: the model, the registry of codes, and one renderer per output format."""

from sparkc.diagnostics.model import Diagnostic, Related, Report, Severity
from sparkc.diagnostics.render import render

__all__ = ["Diagnostic", "Related", "Report", "Severity", "render"]
