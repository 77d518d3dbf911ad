"""`kill` and `kill-by-manager`."""

from __future__ import annotations

import click

from orchctl.cli.app import DURATION, App, json_option, pass_app, quiet_option, show_json
from orchctl.model.supervisor import KillReport


@click.command("kill")
@click.option("--grace", "grace_s", type=DURATION, default="5s", show_default=True, help="Before it is done by force.")
@json_option
@quiet_option
@click.argument("sessions", nargs=-1, required=True)
@pass_app
def kill_command(app: App, sessions: tuple[str, ...], grace_s: float, as_json: bool, quiet: bool) -> int:
    """End SESSIONS with everything they started, and print how many were ended.

    One that has ended already is fine. Processes that would not go are named by pid.

    \b
    orchctl kill db
    orchctl kill --grace 0s @last

    \b
    Exit codes: 0; 1 some process survived; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        return _show(client.kill(*sessions, grace_s=grace_s), as_json=as_json, quiet=quiet)


@click.command("kill-by-manager")
@click.option("--exact", is_flag=True, help="Only its own sessions, not those of managers below it.")
@click.option("--grace", "grace_s", type=DURATION, default="5s", show_default=True, help="Before it is done by force.")
@json_option
@quiet_option
@click.argument("manager")
@pass_app
def kill_by_manager_command(app: App, manager: str, exact: bool, grace_s: float, as_json: bool, quiet: bool) -> int:
    """End every session of MANAGER and of the managers below it, and print how many were ended.

    Names are compared by whole segments: agent-1 selects agent-1 and agent-1:tests, never agent-12.

    \b
    orchctl kill-by-manager orchestrator:coordinator-001

    \b
    Exit codes: 0, also for none; 1 some process survived; 2 usage; 8 no supervisor answers.
    """
    with app.client() as client:
        return _show(client.kill_by_manager(manager, exact=exact, grace_s=grace_s), as_json=as_json, quiet=quiet)


def _show(report: KillReport, *, as_json: bool, quiet: bool) -> int:
    if as_json:
        show_json(report)
    elif not quiet:
        click.echo(len(report.ended))
    for pid in report.survivors:
        click.echo(f"orchctl: process {pid} would not end", err=True)
    return 1 if report.survivors else 0
