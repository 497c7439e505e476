"""``sparkc fit``: does a recipe fit into the memory of its nodes?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sparkc.cli import options
from sparkc.cli.hub import loaded_model
from sparkc.cli.inputs import inventory_file, load_inputs, read_bytes
from sparkc.cli.known_models import known_facts, save
from sparkc.cli.model_files import download_hint, read_model
from sparkc.cli.output import print_diagnostics, shown
from sparkc.cli.project import Project, find_project, find_recipe
from sparkc.diagnostics import Report
from sparkc.fit.facts import Facts, read_model_file
from sparkc.fit.model import Fit, RankFit
from sparkc.fit.planned import fit_plan, serving_of
from sparkc.fit.serving import Serving
from sparkc.fit.table import table
from sparkc.planning.model import Plan
from sparkc.planning.plan import make_plan
from sparkc.reading.read import read_document

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("fit", cls=options.EngineCommand)
@click.argument("recipe_name", metavar="RECIPE", shell_complete=options.complete_recipe)
@options.overrides
@options.inventory
@click.option("--model-info", metavar="FILE", type=_FILE, help="The model's facts: its config and the weights' size.")
@click.option("--hf-cache", metavar="DIR", type=_FOLDER, help="A Hugging Face cache that has the model's config.json.")
@click.option("--save", "save_facts", is_flag=True, help="Keep what --hf-cache says in models/, for compile and check.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@options.diagnostics_format
@click.pass_context
def command(ctx: click.Context, /, recipe_name: str, **values: Any) -> int:
    """Sum up the memory that RECIPE takes on every rank; exits 1 when it does not fit.

    Weights, draft, activations, CUDA graphs, the host's own needs, and the tokens that the KV cache then has room
    for. Each figure says whether it is measured, follows from the model's config, or is estimated.

    \b
    Example:
      sparkc fit minimax-m2.5-awq --nodes 2 --hf-cache ~/.cache/huggingface --save
      sparkc fit recipes/mine.yaml --nodes 2 --model-info qwen3.yaml --max-model-len 65536
    """  # noqa: D301 - \b keeps click from wrapping the example
    if values["model_info"] is not None and values["hf_cache"] is not None:
        raise click.UsageError("--model-info and --hf-cache are two sources of the same facts: give one")
    if values["save_facts"] and values["hf_cache"] is None:
        raise click.UsageError("--save keeps what --hf-cache DIR says")
    project = find_project(Path.cwd())
    recipe = find_recipe(project, recipe_name)
    report = Report()
    overrides = options.build_overrides(ctx, values)
    inputs = load_inputs(project, recipe, inventory_file(project, values["inventory"]), overrides, report)
    plan = None if inputs is None else make_plan(inputs, report)
    serving = None if plan is None else serving_of(plan, report)
    facts = None if plan is None or serving is None else _model_facts(project, plan, serving, values, report)
    result = None
    if plan is not None and serving is not None and facts is not None:
        result = fit_plan(plan, serving, facts, report)
        if values["save_facts"]:
            _save(project, facts)
    print_diagnostics(report.diagnostics, values["format_"], project, {recipe.name: recipe.path})
    if plan is None or result is None:
        return 1
    if values["as_json"]:
        import json  # only for programs

        click.echo(json.dumps(_facts(result), indent=2))
    else:
        click.echo(f"{plan.name}: {', '.join(model.value for model in plan.models)}")
        click.echo(table(result))
    return 0 if result.fits else 1


def _save(project: Project, facts: Facts) -> None:
    for model in (facts.model, facts.draft):
        if model is not None:
            click.echo(f"wrote {shown(save(project, model))}", err=True)


def _model_facts(
    project: Project, plan: Plan, serving: Serving, values: dict[str, Any], report: Report
) -> Facts | None:
    info: Path | None = values["model_info"]
    cache: Path | None = values["hf_cache"]
    if info is not None:
        document = read_document(info.name, read_bytes(info), report)
        return None if document is None else read_model_file(document, report)
    if cache is None:
        known = known_facts(project, plan, serving, report)
        if known is not None or report.failed:
            return known
    model = loaded_model(plan)
    if cache is None:
        name = model.value if model is not None else "MODEL"
        report.error(
            "SPK720",
            f"sparkc fit needs the config.json of {name} and the size of its weights",
            None if model is None else model.origin.span,
            hint=f"{download_hint(name)}; or a --model-info file with sparkc_model: 1, config and weights_bytes",
        )
        return None
    if model is None:
        report.error(
            "SPK720",
            "the recipe does not say which model it serves",
            plan.recipe.base_name.origin.span,
            hint="add `model:` to the recipe, or use --model-info",
        )
        return None
    revision = plan.recipe.revision
    main = read_model(cache, model, None if revision is None else revision.value, report)
    wanted = None if serving.speculation is None else serving.speculation.model
    draft = None if wanted is None else read_model(cache, wanted, None, report)
    return None if main is None or report.failed else Facts(main, draft)


def _facts(fit: Fit) -> dict[str, Any]:
    return {
        "fits": fit.fits,
        "limit": fit.limit,
        "max_model_len": fit.max_length,
        "max_sequences": fit.sequences,
        "cache_type": fit.cache,
        "cache_basis": fit.cache_basis,
        "tightest_rank": fit.tightest.rank,
        "tokens": fit.tightest.tokens,
        "problems": list(fit.problems),
        "advice": list(fit.advice),
        "ranks": [_rank(rank) for rank in fit.ranks],
    }


def _rank(rank: RankFit) -> dict[str, Any]:
    cache = {"name": "KV cache", "bytes": rank.pool, "basis": rank.pool_basis, "formula": rank.pool_formula}
    return {
        "rank": rank.rank,
        "node": rank.node,
        "layers": rank.layers,
        "memory_bytes": rank.memory,
        "memory_from": rank.memory_from,
        "lines": [
            *(
                {
                    "name": line.name,
                    "bytes": line.size,
                    "basis": line.basis,
                    "formula": line.formula,
                    "place": line.place,
                }
                for line in rank.lines
            ),
            {**cache, "place": "budget"},
        ],
        "engine_bytes": rank.budget,
        "sum_bytes": rank.total,
        "free_bytes": rank.left,
        "bytes_per_token": rank.token,
        "bytes_per_sequence": rank.fixed,
        "bytes_of_longest_sequence": rank.sequence,
        "tokens": rank.tokens,
        "longest_sequence": rank.length,
    }
