"""`kill` and `kill-by-manager`."""

from __future__ import annotations

import click

from orchctl.cli.app import DURATION, SIGNAL, App, pass_app
from orchctl.cli.options import sessions_argument
from orchctl.cli.output import Form, forms, progress
from orchctl.cli.tables import command_of
from orchctl.session.model import KillReport, Selection, Session
from orchctl.terminal import one_line
from orchctl.units import count

_GRACE = click.option(
    "--grace",
    "grace_s",
    type=DURATION,
    default="5s",
    show_default=True,
    metavar="D",
    help="Before it is done by force.",
)
_DRY_RUN = click.option("--dry-run", is_flag=True, help="End nothing; say on stderr what would be ended.")


@click.command("kill")
@click.option("-s", "--signal", "number", type=SIGNAL, metavar="SIG", help="Ask with this signal, not HUP and TERM.")
@_GRACE
@_DRY_RUN
@sessions_argument()
@forms
@pass_app
def kill_command(app: App, selection: Selection, number: int | None, grace_s: float, dry_run: bool, form: Form) -> int:
    """End SESSIONS with everything they started, and print how many were ended.

    One that has ended already is fine, and so is none. Processes that would not go are named by pid. With
    -s all of them are asked with that signal; after the grace period they end by force.

    \b
    orchctl kill db
    orchctl kill --grace 0s @last
    orchctl kill -s INT -l phase=test
    orchctl list -q -m user | orchctl kill -

    \b
    Exit codes: 0; 1 some process survived, or may have; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        ended_too = bool(selection.sessions)
        chosen = list(client.select(selection, ended_too=ended_too)) if not selection.empty else []
        if dry_run:
            return _would_end([session for session in chosen if session.is_alive], form)
        ids = [session.id for session in chosen]
        with progress(f"ending {count(len(ids), 'session')}", quiet=not form.words):
            report = client.kill(*ids, grace_s=grace_s, signal=number or 0) if ids else KillReport()
    return _show(report, form)


@click.command("kill-by-manager")
@click.option("--exact", is_flag=True, help="Only its own sessions, not those of managers below it.")
@_GRACE
@_DRY_RUN
@click.argument("manager")
@forms
@pass_app
def kill_by_manager_command(app: App, manager: str, exact: bool, grace_s: float, dry_run: bool, form: Form) -> int:
    """End every session of MANAGER and of the managers below it, and print how many were ended.

    Names are compared by whole segments: agent-1 selects agent-1 and agent-1:tests, never agent-12.

    \b
    orchctl kill-by-manager orchestrator:coordinator-001
    orchctl kill-by-manager --dry-run user

    \b
    Exit codes: 0, also for none; 1 some process survived, or may have; 2 usage; 8 no supervisor answers.
    """
    with app.client() as client:
        if dry_run:
            found = client.select(Selection(managers=(manager,)))
            return _would_end([one for one in found if not exact or one.managed_by == manager], form)
        with progress(f"ending the sessions of {manager}", quiet=not form.words):
            report = client.kill_by_manager(manager, exact=exact, grace_s=grace_s)
    return _show(report, form)


def _would_end(sessions: list[Session], form: Form) -> int:
    for session in sessions if form.words else ():
        name = f" {session.name}" if session.name else ""
        click.echo(one_line(f"orchctl: would end {session.id}{name}: {command_of(session)}"), err=True)
    form.one({"would_end": [session.id for session in sessions]}, lambda: click.echo(len(sessions)))
    return 0


def _show(report: KillReport, form: Form) -> int:
    form.one(report, lambda: click.echo(len(report.ended)))
    for pid in report.survivors:
        click.echo(f"orchctl: process {pid} would not end", err=True)
    if report.unproven:
        pids = " ".join(map(str, report.unproven))
        click.echo(
            "orchctl: cannot prove that nothing is left: a keeper was killed before, and nothing tells whether these "
            f"processes belong to its session: {pids}; look at them with 'ps -fp \"{pids}\"', and end yours by pid",
            err=True,
        )
    return 1 if report.survivors or report.unproven else 0
