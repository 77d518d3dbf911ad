"""`signal`, `resize`, `pause`, `unpause` and `restart`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from orchctl.cli.app import DURATION, SIGNAL, TERMINAL_SIZE, App, pass_app
from orchctl.cli.options import lease_option, sessions_argument
from orchctl.cli.output import Form, forms, progress
from orchctl.errors import OrchctlError
from orchctl.session.model import Selection, Session

if TYPE_CHECKING:
    from orchctl.client.blocking import Client

PASSED_OVER = ("no-such-session", "session-ended", "no-terminal")


def _do(
    app: App,
    selection: Selection,
    form: Form,
    what: Callable[[Client, str], Session],
    *,
    words: Callable[[list[Session]], None] | None = None,
) -> None:
    """To each of them in turn; those that were chosen, not named, and cannot be meant are passed over."""
    with app.client() as client:
        done = []
        for session in client.select(selection, ended_too=bool(selection.sessions)):
            try:
                done.append(what(client, session.id))
            except OrchctlError as error:
                if not selection.open or error.code not in PASSED_OVER:
                    raise
    form.results(done, single=selection.single, words=words and (lambda: words(done)))


@click.command("signal")
@sessions_argument()
@click.argument("number", type=SIGNAL, metavar="SIGNAL")
@forms
@pass_app
def signal_command(app: App, selection: Selection, number: int, form: Form) -> None:
    """Send SIGNAL to SESSIONS' programs, and to nothing else they started.

    'orchctl interrupt' does what Ctrl-C does; 'orchctl kill' ends everything.

    \b
    orchctl signal db HUP

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, selection, form, lambda client, session: client.control(session, "signal", signal=number))


@click.command("restart")
@click.option(
    "--grace",
    "grace_s",
    type=DURATION,
    default="5s",
    show_default=True,
    metavar="D",
    help="Before it is ended by force.",
)
@sessions_argument()
@forms
@pass_app
def restart_command(app: App, selection: Selection, grace_s: float, form: Form) -> None:
    """End what SESSIONS run and start it again: the same session and log, a new run.

    An ended session can be started again too. It gets your environment, unless it was spawned with --restart.
    A conversation with an agent is resumed; a turn under way is interrupted first.

    \b
    orchctl restart server

    \b
    Exit codes: 0; 2 usage; 3 no such session; 5 it would not end, its name is taken, or its conversation
    cannot be resumed; 8 no supervisor answers; 126, 127 its command cannot be executed, not found.
    """
    with progress("starting again", quiet=not form.words):
        _do(
            app,
            selection,
            form,
            lambda client, session: client.restart(session, grace_s=grace_s),
            words=lambda done: click.echo("\n".join(f"run {session.run}" for session in done)),
        )


@click.command("resize")
@lease_option
@sessions_argument()
@click.argument("size", type=TERMINAL_SIZE, metavar="COLSxROWS")
@forms
@pass_app
def resize_command(app: App, selection: Selection, size: tuple[int, int], viewer: str, form: Form) -> None:
    """Give SESSIONS' terminals another size; their programs are told.

    \b
    orchctl resize work 132x50

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 5 somebody else holds the
    lease; 8 no supervisor answers.
    """
    _do(app, selection, form, lambda client, session: client.control(session, "resize", size=size, viewer=viewer))


@click.command("pause")
@sessions_argument()
@forms
@pass_app
def pause_command(app: App, selection: Selection, form: Form) -> None:
    """Stop everything that SESSIONS run, parents before their children, until 'orchctl unpause'.

    \b
    orchctl pause build

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, selection, form, lambda client, session: client.control(session, "pause"))


@click.command("unpause")
@sessions_argument()
@forms
@pass_app
def unpause_command(app: App, selection: Selection, form: Form) -> None:
    """Let paused SESSIONS go on, children before their parents.

    \b
    orchctl unpause build

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    _do(app, selection, form, lambda client, session: client.control(session, "unpause"))
