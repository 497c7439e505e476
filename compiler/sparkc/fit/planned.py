"""A plan's memory: what the compiled commands say, put together with what is known about the model."""

from __future__ import annotations

from sparkc.diagnostics import Report
from sparkc.engines.group_checks import command_words
from sparkc.engines.registry import ENGINES
from sparkc.fit.budget import NodeMemory, Task, fit
from sparkc.fit.facts import Facts
from sparkc.fit.model import Fit
from sparkc.fit.serving import Serving, read_sglang, read_vllm
from sparkc.planning.model import Plan
from sparkc.reading.source import Span


def serving_of(plan: Plan, report: Report) -> Serving | None:
    """Return what the plan's command says about memory, or None after an error."""
    words = command_words(plan.ranks[0])
    if not words or plan.engine not in ("vllm", "vllm-ray", "sglang"):
        report.error(
            "SPK724",
            f"there are no formulas for engine {plan.engine}"
            if words
            else "the recipe's script hides its engine command",
            plan.recipe.engine.origin.span,
            hint="sparkc fit knows vLLM and SGLang",
        )
        return None
    if plan.engine == "sglang":
        found = read_sglang(words, report)
    else:
        version = plan.recipe.engine_version
        env = {key: value.value for key, value in plan.ranks[0].environment.items()}
        found = read_vllm(words, env, None if version is None else version.value, report)
    return None if report.failed else found


def fit_plan(plan: Plan, serving: Serving, facts: Facts, report: Report) -> Fit | None:
    """Return the sum for the plan's ranks, or None after an error."""
    speculation = serving.speculation
    wanted = None if speculation is None else speculation.model
    if wanted is not None and facts.draft is None:
        report.error(
            "SPK720",
            f"nothing is known about the draft model {wanted.value}",
            wanted.origin.span,
            hint="add `draft:` with its config and weights_bytes to the --model-info file",
        )
        return None
    world = ENGINES[plan.engine].world(plan.recipe, command_words(plan.ranks[0]), report)
    nodes = tuple(
        NodeMemory(rank.node.name.value, None if rank.node.memory is None else rank.node.memory.value)
        for rank in plan.ranks
    )
    draft = None if wanted is None else facts.draft
    return fit(Task(facts.model, draft, serving, world, nodes), _place(plan), report)


def _place(plan: Plan) -> Span | None:
    model = plan.models[0] if plan.models else plan.recipe.base_name
    return model.origin.span
