"""`supervisor`: the daemon that starts by itself, looked after by hand."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from orchctl.cli.app import App, pass_app, refuse_if
from orchctl.cli.output import Form, forms, progress
from orchctl.errors import NotPermitted
from orchctl.session.model import SupervisorStatus
from orchctl.terminal import one_line
from orchctl.units import about_duration, count


@click.group("supervisor")
def supervisor_command() -> None:
    """Start, stop and look at the supervisor. Other commands start it when they need it."""


@supervisor_command.command("start")
@forms
@pass_app
def start_command(app: App, form: Form) -> None:
    """Start it if it is not running.

    \b
    orchctl supervisor start

    \b
    Exit codes: 0 it runs; 4 the state directory cannot be used; 8 it did not start.
    """
    with app.client() as client:
        status = client.start_supervisor()
    form.one(status, lambda: _show(status))


@supervisor_command.command("status")
@forms
@pass_app
def status_command(app: App, form: Form) -> int:
    """Say whether it runs, and where. Never starts one.

    \b
    orchctl supervisor status
    orchctl supervisor status --template '{pid}'

    \b
    Exit codes: 0 it runs; 1 it does not; 8 it does not start (degraded), or does not
    answer.
    """
    with app.client() as client:
        status = client.status()
    form.one(status, lambda: _show(status))
    return 8 if status.degraded else 0 if status.running else 1


@supervisor_command.command("stop")
@click.option("--kill", is_flag=True, help="End all sessions first.")
@click.option("--leave", is_flag=True, help="Let the sessions go on; the next command adopts them.")
@forms
@pass_app
def stop_command(app: App, kill: bool, leave: bool, form: Form) -> None:
    """Stop it; refused while sessions live, unless they are killed or left.

    \b
    orchctl supervisor stop --leave

    \b
    Exit codes: 0 stopped, or it did not run; 2 usage; 5 sessions live, or processes would not end;
    8 it does not start, and sessions cannot be ended without it.
    """
    refuse_if(kill and leave, "--kill and --leave exclude each other.")
    with app.client() as client, progress("stopping", quiet=not form.words):
        stopped = client.stop_supervisor(kill=kill, leave=leave)
    form.one({"stopped": stopped}, lambda: click.echo("stopped" if stopped else "not running"))


@supervisor_command.command("restart")
@forms
@pass_app
def restart_command(app: App, form: Form) -> None:
    """Replace it by the version that is installed now; sessions and their commands go on.

    The new one reads every session before the old one goes. If it cannot, the old one goes on.

    \b
    pip install -U orchctl && orchctl supervisor restart

    \b
    Exit codes: 0 restarted, or started where none ran; 1 not restarted; 8 it does not answer.
    """
    with app.client() as client, progress("restarting", quiet=not form.words):
        done = client.restart_supervisor()
    what = "started: pid" if done.old_pid is None else f"restarted: pid {done.old_pid} →"
    form.one(done, lambda: click.echo(f"{what} {done.pid}, version {done.version}, {count(done.sessions, 'session')}"))


@supervisor_command.command("run")
@pass_app
def run_command(app: App) -> None:
    """Run it in the foreground, for a service manager; SIGTERM stops it and leaves the sessions.

    \b
    ExecStart=/usr/bin/orchctl supervisor run

    \b
    Exit codes: 0 stopped, or another one runs already.
    """
    from orchctl.client import start
    from orchctl.paths import prepare

    root = app.client().root
    prepare(root)
    argv = start.command_line(root, "--foreground")
    os.execve(argv[0], argv, start.daemon_environment())


class Lines(click.ParamType[int]):
    """A number of lines, or `all`, which is -1."""

    name = "lines"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if text in ("all", "-1"):
            return -1
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            self.fail(f"{text!r} is neither a number of lines nor 'all'", param, ctx)
        return int(text)


@supervisor_command.command("logs")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes.")
@click.option("-n", "--lines", type=Lines(), default="50", show_default=True, metavar="N|all", help="How many lines.")
@forms
def logs_command(follow: bool, lines: int, form: Form) -> int:
    """Show what the supervisor, its zygote and the sessions' own processes had to say.

    It reads the log's files, so it works when no supervisor does, and starts none. The log is kept in three files of
    5 MiB; -f goes on when it rolls.

    \b
    orchctl supervisor logs -n 20
    orchctl supervisor logs -f --json | jq -r 'select(.process == "zygote").text'

    \b
    Exit codes: 0; 1 there is no log; 2 usage; 4 the state directory cannot be used.
    """
    from orchctl.client.supervisor_log import Log
    from orchctl.paths import check, find_root

    root = find_root(os.environ)
    check(root)
    try:
        log = Log(root)
    except OSError as error:
        raise NotPermitted(f"cannot read {root.log}: {error.strerror}", code="bad-state-dir") from None
    found = log.last(None if lines < 0 else lines)
    there = bool(found) or os.path.exists(root.log)  # right after it was rolled there is only the older one
    for line in found if not form.quiet else ():
        _print(line, form)
    if follow and not form.quiet:
        for line in log.follow():
            _print(line, form)
    log.close()
    if not there:
        click.echo(f"orchctl: there is no log at {root.log}", err=True)
    return 0 if there else 1


def _print(line: bytes, form: Form) -> None:
    """At once, so that whoever reads along sees it."""
    from orchctl.cli.output import write_all
    from orchctl.client.supervisor_log import parsed

    words = one_line(line.decode(errors="replace")).encode(errors="replace") + b"\n"
    write_all(1, words if form.words else form.line(parsed(line)))


def _show(status: SupervisorStatus) -> None:
    if status.degraded:
        click.echo(f"degraded    {one_line(status.degraded)}")
        click.echo(f"state dir   {status.state_dir}")
        return
    if not status.running:
        click.echo(f"not running; state directory {status.state_dir}")
        return
    uptime = about_duration(time.time() - (status.started_at or time.time()))
    click.echo(f"running     pid {status.pid}, zygote {status.zygote}, for {uptime}")
    click.echo(f"version     {status.version}, protocol {status.protocol}")
    click.echo(f"sessions    {status.sessions} live")
    click.echo(f"socket      {status.socket}")
    click.echo(f"state dir   {status.state_dir}")
    if status.config is not None:
        click.echo(f"config      {status.config}")
    click.echo(f"events      chain head {status.chain_head}")
    for problem in status.problems:
        click.echo(f"problem     {one_line(problem)}")
