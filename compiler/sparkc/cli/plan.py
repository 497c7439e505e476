"""``sparkc plan``: what a deploy would do, rank by rank."""

from __future__ import annotations

import click

from sparkc.cli.bundle_argument import bundle_argument, environments_of, open_bundle
from sparkc.cli.forecast_output import forecast_data, print_forecast, verdict
from sparkc.runner.deploy import wanted
from sparkc.runner.processes import Processes
from sparkc.runner.rollout import forecast
from sparkc.runner.secrets import Secrets
from sparkc.runner.ssh import Ssh


@click.command("plan")
@bundle_argument(required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(bundle: str, *, as_json: bool) -> int:
    """Show what runs now, what would run after a deploy of BUNDLE, and what stands in its way. Changes nothing.

    \b
    Example:
      sparkc plan minimax-m2-5-awq
      sparkc plan minimax-m2-5-awq --json | jq '.actions[] | select(.action != "none")'
    """  # noqa: D301 - \b keeps click from wrapping the example
    opened = open_bundle(bundle)
    # Secrets are not asked for, and so not compared.
    with Ssh(Processes()) as ssh:
        found = forecast(ssh, wanted(opened, environments_of(opened), Secrets()))
    if as_json:
        import json  # only for programs

        click.echo(json.dumps(forecast_data(found), indent=2, ensure_ascii=False))
    else:
        print_forecast(found)
        click.echo(verdict(found))
    return 0
