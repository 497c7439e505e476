"""The ``sparkc`` command: finds the command's module and turns every outcome into an exit code.

0 fine; 1 findings, stale or failed; 2 usage; 3 a fault of sparkc itself; 130 interrupted.
Commands are imported when they are called, so that ``--help`` and completion do not wait for them.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from sparkc import __version__

# Command name → its one line in ``--help``. The module is ``sparkc.cli.<name>``, the command object ``command``.
COMMANDS = {
    "compile": "Compile a recipe into one directory per rank.",
    "check": "Diagnose recipes and inventories without writing anything.",
    "list": "List the recipes that compile can find by name.",
    "show": "Show a recipe as sparkc understands it.",
    "convert": "Print a recipe of any dialect as a native one.",
    "fit": "Sum up the memory that a recipe takes on every rank.",
    "doctor": "Check whether nodes are fit to run a bundle.",
    "plan": "Show what a deploy would do, rank by rank.",
    "deploy": "Bring a bundle to its nodes and start it as one unit.",
    "rollback": "Go back to a release that the nodes kept.",
    "status": "Show how each rank of a bundle is, or of all bundles.",
    "logs": "Print the logs of all ranks, merged by time.",
    "exec": "Run a command in a rank's container.",
    "down": "Stop a bundle on all its nodes.",
    "releases": "List the releases of a bundle that its nodes keep.",
    "prune": "Remove old releases from the nodes.",
    "lock": "Show who is at work on a bundle, or release its lock.",
    "init": "Start a project folder: inventory, recipe, CI.",
    "completion": "Print the completion script for a shell.",
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"sparkc.cli.{cmd_name}").command
        assert isinstance(command, click.Command)  # noqa: S101 - for the type checker
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from sparkc.diagnostics.suggest import did_you_mean  # only on the way to an error message

            hint = did_you_mean(args[0], COMMANDS) or f"there are: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no such command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="sparkc %(version)s")
def cli() -> None:
    """Compile LLM-serving recipes for DGX Spark clusters into one reviewed directory per rank.

    \b
    Example:
      sparkc compile minimax-m2.5-awq --nodes 2
    """  # noqa: D301 - \b keeps click from wrapping the example


def main() -> None:
    """Run the command line and exit."""
    # A command is over in a moment and leaves few cycles: looking for them as often as usual is 5 % of a compile.
    gc.set_threshold(50_000)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; nothing escapes as a traceback."""
    try:
        _refuse_bytes(arguments)
        result = cli.main(arguments, prog_name="sparkc", standalone_mode=False, terminal_width=_help_width())
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader of our output left (`sparkc list | head -1`); the null device keeps Python's exit quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _failed(error)
    return result if isinstance(result, int) else 0


def _refuse_bytes(arguments: list[str]) -> None:
    """Refuse arguments that are not UTF-8: no file of a bundle could hold them."""
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise click.UsageError(f"{shown!r} is not UTF-8; with other than ASCII letters set LANG to a UTF-8 locale")


def _help_width() -> int:
    """Return the width of help texts. Click would import shutil to find it, and that bz2 and lzma: 4 ms."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        width = int(columns)
    else:
        try:
            width = os.get_terminal_size(sys.stdout.fileno()).columns
        except (OSError, ValueError):  # no terminal
            width = 80
    return max(50, min(width, 100) - 2)


def _failed(error: Exception) -> int:
    from sparkc.errors import SparkcError  # not needed on a clean run

    if isinstance(error, SparkcError):
        click.echo(str(error), err=True)
        return 1
    if isinstance(error, OSError):
        # A full disk behind standard output, a current folder that is gone: the world's faults, not ours.
        click.echo(f"cannot go on: {error.strerror or error}", err=True)
        return 1
    from sparkc.cli.crash import crash_report  # platform facts and tracebacks cost time that only a crash needs

    click.echo(crash_report(error, sys.argv[1:]), err=True)
    return 3
