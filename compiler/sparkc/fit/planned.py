"""A plan's memory: what the compiled commands say, put together with what is known about the model."""

from __future__ import annotations

from sparkc.diagnostics import Report, Severity
from sparkc.engines.group_checks import command_words
from sparkc.engines.registry import ENGINES
from sparkc.fit.advice import gib
from sparkc.fit.budget import NodeMemory, Task, fit
from sparkc.fit.facts import Facts
from sparkc.fit.model import Fit
from sparkc.fit.serving import Serving, read_sglang, read_vllm
from sparkc.planning.model import Memory, Plan
from sparkc.reading.source import Span
from sparkc.record import replace

_LARGEST_SHARE = 0.85


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
    found = fit(Task(facts.model, draft, serving, world, nodes), _place(plan), report)
    if found is not None:
        _check_loader(found, serving, report)
    return found


def with_memory(plan: Plan, serving: Serving, facts: Facts, report: Report) -> Plan:
    """Return the plan with what the sum says; a recipe that does not fit is a warning, on example nodes a note.

    What the formulas do not cover is a note, too: a plan is as good without the sum.
    """
    own = Report()
    found = fit_plan(plan, serving, facts, own)
    for diagnostic in own.diagnostics:
        report.add(replace(diagnostic, severity=Severity.NOTE) if diagnostic.severity is Severity.ERROR else diagnostic)
    if found is None:
        return replace(plan, diagnostics=report.diagnostics)
    if found.problems:
        more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
        tell = report.note if plan.inventory.kind == "example" else report.warning
        tell(
            "SPK725",
            f"this does not fit: {found.problems[0]}{more}",
            _place(plan),
            hint=f"{found.advice[0]}; `sparkc fit` shows the sum",
        )
    rank = found.tightest
    bases = [(line.name, line.basis) for line in rank.lines if line.place != "reclaimable"]
    bases.append(("KV cache", rank.pool_basis))
    memory = Memory(
        fits=found.fits,
        weights=sum(line.size for line in rank.lines if line.name == "weights"),
        tokens=rank.tokens,
        length=found.max_length,
        estimated=tuple(name for name, basis in bases if basis == "estimated"),
    )
    return replace(plan, memory=memory, diagnostics=report.diagnostics)


def _check_loader(found: Fit, serving: Serving, report: Report) -> None:
    """Warn where the loader, which copies whole files to the device first, may not find the memory for that.

    The limit is from spark-vllm-docker's README (https://github.com/eugr/spark-vllm-docker), which warns of running out
    of memory where a model without its KV cache takes more.
    """
    loader = serving.load_format
    if loader is None or loader.value.lower() != "fastsafetensors":
        return
    for rank in found.ranks:
        weights = sum(line.size for line in rank.lines if line.name == "weights")
        if weights > _LARGEST_SHARE * rank.memory:
            report.warning(
                "SPK726",
                f"fastsafetensors can run out of memory: the weights of rank {rank.rank} on {rank.node} take"
                f" {gib(weights)}, more than {_LARGEST_SHARE} of its {gib(rank.memory)}",
                loader.origin.span,
                hint="take --load-format safetensors, or instanttensor where the image has it",
            )
            return


def _place(plan: Plan) -> Span | None:
    model = plan.models[0] if plan.models else plan.recipe.base_name
    return model.origin.span
