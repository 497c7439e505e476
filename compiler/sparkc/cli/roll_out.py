"""What deploy and rollback share on the command line: look, ask, do, and say how it ended."""

from __future__ import annotations

import sys

import click

from sparkc.bundle.manifest import Manifest
from sparkc.cli.findings_output import count
from sparkc.cli.forecast_output import forecast_data, print_forecast, verdict
from sparkc.cli.progress import make_progress
from sparkc.diagnostics.escape import printable
from sparkc.errors import SparkcError
from sparkc.record import dataclass
from sparkc.runner.processes import interruptible
from sparkc.runner.rollout import Forecast, Wanted, forecast, roll_out
from sparkc.runner.ssh import Ssh
from sparkc.runner.switch import How, SwitchFailed


@dataclass(frozen=True)
class Manner:
    """How a command talks: ``verb`` names it in questions; ``yes`` asks nothing; ``dry_run`` changes nothing."""

    verb: str
    yes: bool
    dry_run: bool
    as_json: bool


def run_roll_out(ssh: Ssh, wanted: Wanted, how: How, manner: Manner) -> int:
    """Forecast, confirm and roll out; return the exit code.

    Raises:
        SparkcError: it failed before anything that runs was touched; with ``as_json`` that is printed instead.
    """
    name = wanted.manifest.name
    try:
        with interruptible():
            return _attempt(ssh, wanted, how, manner)
    except SwitchFailed as error:
        if not manner.as_json:
            click.echo(str(error), err=True)
        return _end(None, "interrupted" if error.interrupted else "failed", manner, str(error), shown=True)
    except SparkcError as error:
        if not manner.as_json:
            raise
        return _end(None, "failed", manner, str(error), shown=True)
    except KeyboardInterrupt:
        message = f"interrupted before anything that runs was touched; sparkc status {name} shows what does"
        return _end(None, "interrupted", manner, message)


def _attempt(ssh: Ssh, wanted: Wanted, how: How, manner: Manner) -> int:
    name = wanted.manifest.name
    with make_progress(as_json=manner.as_json) as progress:
        progress.phase(f"look at the nodes of {name}")
        found = forecast(ssh, wanted)
    if found.unchanged:
        return _end(found, "unchanged", manner, f"{name} serves already; nothing to do")
    if not manner.as_json:
        print_forecast(found)
    if not found.failed and manner.dry_run:
        return _end(found, "planned", manner, verdict(found))
    if not found.failed:
        if not manner.yes:
            _confirm(manner)
        with make_progress(as_json=manner.as_json) as progress:
            found = roll_out(ssh, wanted, how, progress)
    if found.failed:
        return _end(found, "refused", manner, _refusal(found, manner))
    return _end(found, "done", manner, _serving(wanted.manifest, how))


def _confirm(manner: Manner) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"nobody can be asked here; to {manner.verb} without a question, add --yes")
    click.confirm(f"{manner.verb}?", abort=True, err=True)


def _refusal(found: Forecast, manner: Manner) -> str:
    return f"nothing was changed: {count(found.findings)}; mend what is named above, then {manner.verb} again"


def _serving(manifest: Manifest, how: How) -> str:
    if how.wait_seconds is None:
        return f"{manifest.name} is started; sparkc status {manifest.name} tells when it serves"
    lines = [f"{manifest.name} serves" + (f" at {printable(manifest.client_url)}" if manifest.client_url else "")]
    lines += [printable(f"  {title}: {link}") for title, link in manifest.links.items()]
    return "\n".join(lines)


def _end(found: Forecast | None, outcome: str, manner: Manner, message: str, *, shown: bool = False) -> int:
    """Say how it ended, unless that was ``shown``, and return the exit code that belongs to it."""
    code = {"unchanged": 0, "planned": 0, "done": 0, "interrupted": 130}.get(outcome, 1)
    if manner.as_json:
        import json  # only for programs

        data = {"outcome": outcome, "message": message, **(forecast_data(found) if found is not None else {})}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    elif not shown:
        for line in message.splitlines():
            click.echo(printable(line), err=code != 0)
    return code
