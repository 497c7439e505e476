"""``sparkc deploy``: a bundle onto its nodes, as one unit."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sparkc.bundle.manifest import Manifest
from sparkc.cli.bundle_argument import bundle_argument, environments_of, open_bundle
from sparkc.cli.roll_out import Manner, run_roll_out
from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.runner.bundle_folder import Bundle, check_deployable
from sparkc.runner.deploy import wanted
from sparkc.runner.git_state import git_state
from sparkc.runner.processes import Processes
from sparkc.runner.secrets import find_secrets
from sparkc.runner.ssh import Ssh
from sparkc.runner.switch import How


@click.command("deploy")
@bundle_argument(required=True)
@click.option("-y", "--yes", is_flag=True, help="Ask nothing.")
@click.option("--dry-run", is_flag=True, help="Check everything, change nothing.")
@click.option("--no-wait", is_flag=True, help="Return once all ranks are started.")
@click.option(
    "--wait-timeout", type=click.IntRange(min=1), metavar="SECONDS", help="Wait longer than the recipe's ready_timeout."
)
@click.option("--no-rollback", is_flag=True, help="Leave a failed start as it is, for study.")
@click.option("--require-pinned", is_flag=True, help="Refuse an image without a digest.")
@click.option("--allow-dirty", is_flag=True, help="Deploy a bundle that differs from git's HEAD.")
@click.option("--replace", multiple=True, metavar="OTHER", help="Stop another bundle first; it returns on failure.")
@click.option(
    "--secrets-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="NAME=VALUE lines instead of the environment.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no progress.")
def command(  # noqa: PLR0913 - one parameter per option
    bundle: str,
    *,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    wait_timeout: int | None,
    no_rollback: bool,
    require_pinned: bool,
    allow_dirty: bool,
    replace: tuple[str, ...],
    secrets_file: Path | None,
    as_json: bool,
) -> int:
    """Bring BUNDLE to its nodes and start it as one unit.

    All nodes are checked, then all get their files, and only then is what runs stopped, all of it, and the new group
    started in the engine's order. If it does not come to serve, what ran before is brought back.

    \b
    Example:
      sparkc deploy minimax-m2-5-awq
      sparkc deploy minimax-m2-5-awq --dry-run
      sparkc deploy out/minimax-m2-5-awq --yes --replace gpt-oss-120b
    """  # noqa: D301 - \b keeps click from wrapping the example
    opened = open_bundle(bundle)
    check_deployable(opened)
    if not allow_dirty:
        _check_git(opened)
    secrets = find_secrets(opened.manifest.secrets, os.environ, secrets_file)
    how = How(None if no_wait else _wait_seconds(opened.manifest, wait_timeout), not no_rollback, secrets)
    with Ssh(Processes()) as ssh:
        return run_roll_out(
            ssh,
            wanted(opened, environments_of(opened), secrets, require_pinned=require_pinned, replaced=replace),
            how,
            Manner(f"deploy {opened.manifest.name}", yes, dry_run, as_json),
        )


def _check_git(bundle: Bundle) -> None:
    state = git_state(bundle.folder)
    if state.differs:
        raise SparkcError(
            f"{bundle.manifest.name} differs from what git has in HEAD, so it was not reviewed",
            output="\n".join(state.differs),
            hint=f"git add {bundle.folder} && git commit, or deploy it as it is with --allow-dirty",
        )
    if state.note is not None:
        click.echo(f"note: {printable(state.note)}", err=True)


def _wait_seconds(manifest: Manifest, given: int | None) -> float:
    """Return how long to wait: a limit below what the recipe needs to be ready would only break good starts."""
    if given is not None and given < manifest.ready_timeout:
        click.echo(f"note: waiting up to {manifest.ready_timeout} s, which the recipe needs, not {given} s", err=True)
    return max(given or 0, manifest.ready_timeout)
