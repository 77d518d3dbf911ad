"""`signal`, `resize`, `pause`, `unpause` and `restart`."""

from __future__ import annotations

import signal as signals
from typing import Any

import click

from orchctl.cli.app import DURATION, TERMINAL_SIZE, App, json_option, pass_app, quiet_option, show_json


class SignalName(click.ParamType[int]):
    """`HUP`, `SIGHUP` or `1`."""

    name = "signal"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Its number."""
        text = str(value).upper()
        known = {one.name: int(one) for one in signals.Signals}
        number = int(text) if text.isascii() and text.isdigit() else known.get(text, known.get(f"SIG{text}", 0))
        if number not in {int(one) for one in signals.valid_signals()}:
            self.fail(f"{value!r} is not a signal such as HUP, USR1 or 15", param, ctx)
        return number


def _do(app: App, session: str, action: str, *, as_json: bool, **what: Any) -> None:
    with app.client() as client:
        found = client.control(session, action, **what)
    if as_json:
        show_json(found)


@click.command("signal")
@json_option
@quiet_option
@click.argument("session")
@click.argument("number", type=SignalName(), metavar="SIGNAL")
@pass_app
def signal_command(app: App, session: str, number: int, as_json: bool, quiet: bool) -> None:
    """Send SIGNAL to SESSION's program, and to nothing else it started.

    'orchctl interrupt' does what Ctrl-C does; 'orchctl kill' ends everything.

    \b
    orchctl signal db HUP

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, session, "signal", as_json=as_json, signal=number)


@click.command("restart")
@click.option("--grace", "grace_s", type=DURATION, default="5s", show_default=True, help="Before it is ended by force.")
@json_option
@quiet_option
@click.argument("session")
@pass_app
def restart_command(app: App, session: str, grace_s: float, as_json: bool, quiet: bool) -> None:
    """End what SESSION runs and start it again: the same session and log, a new run.

    An ended session can be started again too. It gets your environment, unless it was spawned with --restart.

    \b
    orchctl restart server

    \b
    Exit codes: 0; 2 usage; 3 no such session; 5 it would not end; 8 no supervisor answers;
    126, 127 its command cannot be executed, not found.
    """
    with app.client() as client:
        found = client.restart(session, grace_s=grace_s)
    if as_json:
        show_json(found)
    elif not quiet:
        click.echo(f"run {found.run}")


@click.command("resize")
@json_option
@quiet_option
@click.argument("session")
@click.argument("size", type=TERMINAL_SIZE, metavar="COLSxROWS")
@pass_app
def resize_command(app: App, session: str, size: tuple[int, int], as_json: bool, quiet: bool) -> None:
    """Give SESSION's terminal another size; its program is told.

    \b
    orchctl resize work 132x50

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, session, "resize", as_json=as_json, size=size)


@click.command("pause")
@json_option
@quiet_option
@click.argument("session")
@pass_app
def pause_command(app: App, session: str, as_json: bool, quiet: bool) -> None:
    """Stop everything SESSION runs, parents before their children, until 'orchctl unpause'.

    \b
    orchctl pause build

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, session, "pause", as_json=as_json)


@click.command("unpause")
@json_option
@quiet_option
@click.argument("session")
@pass_app
def unpause_command(app: App, session: str, as_json: bool, quiet: bool) -> None:
    """Let a paused SESSION go on, children before their parents.

    \b
    orchctl unpause build

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, session, "unpause", as_json=as_json)
