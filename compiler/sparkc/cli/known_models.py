"""The project's ``models/``: facts about models, committed beside the recipes, for the sum of their memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sparkc.cli.hub import facts_file, facts_path, place_of, served_names
from sparkc.cli.inputs import read_bytes
from sparkc.cli.project import Project
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.fit.facts import Facts, read_model_file
from sparkc.fit.facts_text import facts_text
from sparkc.fit.model import Model
from sparkc.fit.planned import serving_of, with_memory
from sparkc.fit.serving import Serving
from sparkc.planning.model import Plan
from sparkc.reading.read import read_document


def summed_up(project: Project, plan: Plan, report: Report) -> Plan:
    """Return the plan with the sum of its memory, where the project has the facts of its model and the draft's.

    Faults of these files are errors; an engine without formulas has no sum.
    """
    serving = serving_of(plan, Report())
    facts = None if serving is None else known_facts(project, plan, serving, report)
    return plan if serving is None or facts is None else with_memory(plan, serving, facts, report)


def known_facts(project: Project, plan: Plan, serving: Serving, report: Report) -> Facts | None:
    """Return what the project's files say about the plan's models; None without a file, or after an error.

    A draft has a file of its own, else it is the ``draft`` of its model's.
    """
    main = _read(project, served_names(plan), report)
    wanted = None if serving.speculation is None else serving.speculation.model
    draft = None if main is None or wanted is None else _read(project, [wanted.value], report)
    if main is None or report.failed:
        return None
    return main if draft is None else Facts(main.model, draft.model)


def save(project: Project, model: Model) -> Path:
    """Write the facts of a model that was read from a cache, and return the file.

    Raises:
        SparkcError: the model is none of the Hub, its file says something else, or cannot be written.
    """
    path = facts_path(project, model.name)
    if path is None or model.config is None:
        raise SparkcError(f"{model.name} is no model of the Hub", hint="write a --model-info file by hand")
    data = facts_text(place_of(model.name).name, model.config, model.checkpoint.total).encode()
    if path.is_file() and path.read_bytes() != data:
        raise SparkcError(f"{path} is there already and says something else", hint="remove it to have it written anew")
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise SparkcError(f"cannot write {path}: {error.strerror}", hint="check the folder's permissions") from error
    return path


def _read(project: Project, names: Iterable[str], report: Report) -> Facts | None:
    path = facts_file(project, names)
    if path is None:
        return None
    document = read_document(f"models/{path.name}", read_bytes(path), report)
    return None if document is None else read_model_file(document, report)
