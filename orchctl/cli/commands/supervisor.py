"""`supervisor`: the daemon that starts by itself, looked after by hand."""

from __future__ import annotations

import os
import time

import click

from orchctl.cli.app import App, json_option, pass_app, quiet_option, show_json
from orchctl.client.views import one_line
from orchctl.model.supervisor import SupervisorStatus


@click.group("supervisor")
def supervisor_command() -> None:
    """Start, stop and look at the supervisor. Other commands start it when they need it."""


@supervisor_command.command("start")
@json_option
@quiet_option
@pass_app
def start_command(app: App, as_json: bool, quiet: bool) -> None:
    """Start it if it is not running.

    \b
    Exit codes: 0 it runs; 4 the state directory cannot be used; 8 it did not start.
    """
    with app.client() as client:
        _show(client.start_supervisor(), as_json=as_json, quiet=quiet)


@supervisor_command.command("status")
@json_option
@quiet_option
@pass_app
def status_command(app: App, as_json: bool, quiet: bool) -> int:
    """Say whether it runs, and where. Never starts one.

    \b
    Exit codes: 0 it runs; 1 it does not; 8 something is there but does not answer.
    """
    with app.client() as client:
        status = client.status()
    _show(status, as_json=as_json, quiet=quiet)
    return 0 if status.running else 1


@supervisor_command.command("stop")
@click.option("--kill", is_flag=True, help="End all sessions first.")
@click.option("--leave", is_flag=True, help="Let the sessions go on; the next command adopts them.")
@json_option
@quiet_option
@pass_app
def stop_command(app: App, kill: bool, leave: bool, as_json: bool, quiet: bool) -> None:
    """Stop it; refused while sessions live, unless they are killed or left.

    \b
    Exit codes: 0 stopped, or it did not run; 2 usage; 5 sessions live, or processes would not end.
    """
    if kill and leave:
        raise click.UsageError("--kill and --leave exclude each other.")
    with app.client() as client:
        stopped = client.stop_supervisor(kill=kill, leave=leave)
    if as_json:
        show_json({"stopped": stopped})
    elif not quiet:
        click.echo("stopped" if stopped else "not running")


@supervisor_command.command("restart")
@json_option
@quiet_option
@pass_app
def restart_command(app: App, as_json: bool, quiet: bool) -> None:
    """Replace it by the version that is installed now; sessions and their commands go on.

    The new one reads every session before the old one goes. If it cannot, the old one goes on.

    \b
    Exit codes: 0 restarted, or started where none ran; 1 not restarted; 8 it does not answer.
    """
    with app.client() as client:
        done = client.restart_supervisor()
    if as_json:
        show_json(done)
    elif not quiet:
        what = "started: pid" if done.old_pid is None else f"restarted: pid {done.old_pid} →"
        click.echo(f"{what} {done.pid}, version {done.version}, {done.sessions} sessions")


@supervisor_command.command("run")
@pass_app
def run_command(app: App) -> None:
    """Run it in the foreground, for a service manager; SIGTERM stops it and leaves the sessions.

    \b
    Exit codes: 0 stopped, or another one runs already.
    """
    from orchctl.client import start
    from orchctl.settings import prepare

    root = app.client().root
    prepare(root)
    argv = start.command_line(root, "--foreground")
    os.execve(argv[0], argv, start.environment())


def _show(status: SupervisorStatus, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        show_json(status)
    elif not quiet:
        if not status.running:
            click.echo(f"not running; state directory {status.state_dir}")
            return
        uptime = time.time() - (status.started_at or time.time())
        click.echo(f"running     pid {status.pid}, zygote {status.zygote}, for {uptime:.0f} s")
        click.echo(f"version     {status.version}, protocol {status.protocol}")
        click.echo(f"sessions    {status.sessions} live")
        click.echo(f"socket      {status.socket}")
        click.echo(f"state dir   {status.state_dir}")
        click.echo(f"events      chain head {status.chain_head}")
        for problem in status.problems:
            click.echo(f"problem     {one_line(problem)}")
