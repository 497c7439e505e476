"""``sparkc completion``: the script that makes a shell complete commands, options and recipe names."""

from __future__ import annotations

import click

from sparkc.cli import options
from sparkc.cli.main import cli


@click.command("completion")
@click.argument("shell", type=options.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script for SHELL.

    \b
    Example:
      sparkc completion bash > ~/.local/share/bash-completion/completions/sparkc
      source <(sparkc completion zsh)
    """  # noqa: D301 - \b keeps click from wrapping the example
    from click.shell_completion import get_completion_class  # only here

    completion = get_completion_class(shell)
    assert completion is not None  # noqa: S101 - click knows the three shells of the choice above
    click.echo(completion(cli, {}, "sparkc", "_SPARKC_COMPLETE").source())
    return 0
