"""Every option once, as a named decorator, so that a command reads like a list of what it takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from sparkc.errors import SparkcError

if TYPE_CHECKING:
    from sparkc.planning.overrides import Overrides

F = TypeVar("F", bound=Callable[..., Any])

ENGINE_ARGUMENTS = "sparkc.engine_arguments"


class EngineCommand(click.Command):
    """A command that takes engine arguments after ``--``; they never mix with its own arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Cut the command line at the first ``--``."""
        before, after = args, []
        if "--" in args:
            cut = args.index("--")
            before, after = args[:cut], args[cut + 1 :]
        ctx.meta[ENGINE_ARGUMENTS] = tuple(after)
        return super().parse_args(ctx, before)


class Choice(click.Choice[str]):
    """A choice that names the nearest allowed value; click does that for commands and options only."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the choice, or fail with what was probably meant."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from sparkc.diagnostics.suggest import did_you_mean  # only on the way to an error message

            hint = did_you_mean(str(value), self.choices)
            raise click.BadParameter(error.message + (f" {hint}" if hint else ""), ctx, param) from None


def complete_recipe(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Complete recipe names; nothing heavier than a folder walk is imported for a TAB."""
    from sparkc.cli.project import all_recipes, find_project, recipe_name

    names = (recipe_name(file) for file in all_recipes(find_project(Path.cwd())))
    return [name for name in names if name.startswith(incomplete)]


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:  # noqa: ARG001
    for value in values:
        if "=" not in value or value.startswith("="):
            hint = "the environment is no input: write KEY=VALUE" if param.name == "env" else "write KEY=VALUE"
            raise click.BadParameter(f"{value!r}: {hint}")
    return tuple((value.partition("=")[0], value.partition("=")[2]) for value in values)


def _named(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    if value is not None and not any(character.isascii() and character.isalnum() for character in value):
        raise click.BadParameter(f"{value!r}: a name needs a letter or a digit")
    return value


def _ratio(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    """Keep the text as typed: 0.90 stays 0.90, and 108 is GiB where the recipe counts in GiB."""
    if value is not None:
        digits = value.replace(".", "", 1)
        if not (digits.isascii() and digits.isdecimal()):
            raise click.BadParameter(f"{value!r} is not a number")
    return value


_PORT = click.IntRange(1, 65535)
_COUNT = click.IntRange(1, 1_000_000)

_OVERRIDES: tuple[Callable[[F], F], ...] = (
    click.option("--nodes", metavar="N|A,B", help="The first N nodes, or these in this order; rank 0 is the first."),
    click.option("--name", callback=_named, help="The bundle's name instead of the recipe's."),
    click.option("--image", "--container", "-t", metavar="REF", help="The image instead of the recipe's."),
    click.option("--port", type=_PORT, help="The API port."),
    click.option("--host", help="The address that the API binds to."),
    click.option("--tp", "--tensor-parallel", type=_COUNT, help="Tensor parallel size."),
    click.option("--pp", "--pipeline-parallel", type=_COUNT, help="Pipeline parallel size."),
    click.option("--dp", "--data-parallel", type=_COUNT, help="Data parallel size."),
    click.option(
        "--gpu-mem", "--gpu-memory-utilization", callback=_ratio, help="GPU memory, in the recipe's own unit."
    ),
    click.option("--max-model-len", metavar="LEN", help="Context length."),
    click.option(
        "--set", multiple=True, callback=_pairs, metavar="KEY=VALUE", help="A parameter of the recipe's command."
    ),
    click.option("-e", "--env", multiple=True, callback=_pairs, metavar="KEY=VALUE", help="An environment variable."),
    click.option("--mod", "mods", multiple=True, metavar="PATH", help="A mod, after those of the recipe."),
    click.option(
        "-v", "--volume", "volumes", multiple=True, metavar="SRC:DST[:ro]", help="A bind mount on every node."
    ),
    click.option("-p", "--publish", multiple=True, metavar="HOST:CONTAINER", help="Publish a port (solo only)."),
    click.option("--solo", is_flag=True, help="One node, no distributed flags."),
    click.option("--ray/--no-ray", default=None, help="Run vLLM's ranks on Ray, or not."),
    click.option("--master-port", "--head-port", type=_PORT, help="Coordination port (29501)."),
    click.option("--earlyoom", is_flag=True, help="A memory watchdog beside the engine."),
    click.option("--earlyoom-args", metavar="ARGS", help="The watchdog's policy; implies --earlyoom."),
    click.option("--privileged", is_flag=True, help="A privileged container with the host's IPC."),
    click.option("--non-privileged", is_flag=True, help="Memory, swap and process limits as in spark-vllm-docker."),
    click.option("--mem-limit-gb", type=_COUNT, help="Memory limit in GB."),
    click.option("--mem-swap-limit-gb", type=_COUNT, help="Memory and swap limit in GB."),
    click.option("--shm-size-gb", type=_COUNT, help="Shared memory in GB (64)."),
    click.option("--pids-limit", type=_COUNT, help="Limit of processes."),
    click.option("--nofile", type=click.IntRange(1, 2**31 - 1), help="Limit of open files (1048576)."),
    click.option(
        "--nccl-debug",
        is_flag=False,
        flag_value="INFO",
        type=Choice(["VERSION", "WARN", "INFO", "TRACE"], case_sensitive=False),
        help="NCCL_DEBUG; INFO without a level.",
    ),
    click.option("--no-cache-dirs", is_flag=True, help="Mount only the Hugging Face cache."),
    click.option("--keep-entrypoint", is_flag=True, help="Let the image's entrypoint run the launch script."),
    click.option("-j", "jobs", type=_COUNT, help="Build jobs (MAX_JOBS and its relatives)."),
    click.option("--user", metavar="NAME", help="Login user of nodes given as addresses."),
    click.option("--eth-if", metavar="NAME", help="Fabric interface of nodes given as addresses."),
    click.option("--ib-if", metavar="A,B", help="HCAs of nodes given as addresses."),
)


def overrides(function: F) -> F:
    """Add every option that changes a bundle's bytes."""
    for option in reversed(_OVERRIDES):
        function = option(function)
    return function


def inventory(function: F) -> F:
    """Add ``--inventory``."""
    return click.option("--inventory", metavar="FILE", help="An inventory instead of the project's own.")(function)


def diagnostics_format(function: F) -> F:
    """Add ``--format``, in which what fails in the world is printed as well."""

    @wraps(function)
    def formatted(*args: Any, **values: Any) -> Any:
        try:
            return function(*args, **values)
        except SparkcError as error:
            if values["format_"] == "text":
                raise
            from sparkc.cli.output import from_error  # only on the way to an error message
            from sparkc.diagnostics.render import render

            click.echo(render([from_error(error)], values["format_"], color=False), nl=False)
            return 1

    choice = Choice(["text", "json", "github"])
    option = click.option("--format", "format_", type=choice, default="text", help="How problems are printed.")
    return cast("F", option(formatted))


def build_overrides(ctx: click.Context, values: dict[str, Any]) -> Overrides:
    """Return the overrides among a command's parameters, with the arguments after ``--``."""
    from sparkc.planning.overrides import Overrides

    given = {key: value for key, value in values.items() if key in Overrides.__match_args__}
    return Overrides(**given, arguments=ctx.meta[ENGINE_ARGUMENTS])
