"""`lease`: who may type into a session."""

from __future__ import annotations

import os
import time

import click

from orchctl.cli.app import DURATION, App, pass_app
from orchctl.cli.options import lease_option
from orchctl.cli.output import Form, forms
from orchctl.cli.tables import age, lease_of
from orchctl.session.lease_state import Lease, Viewer
from orchctl.terminal import one_line


@click.group("lease")
def lease_command() -> None:
    """Say who may type into a session. While somebody holds its lease, others may only look on.

    Its holder is who has the token, and everything that runs in the terminal where the lease was taken.

    \b
    orchctl lease show work
    token=$(orchctl lease take --ttl 5m work); orchctl send work --lease "$token" hello

    \b
    Exit codes: 0; 2 usage; 3 no such session; 5 another holds it, or nobody; 8 no supervisor answers.
    """


@lease_command.command("show")
@lease_option
@click.argument("session")
@forms
@pass_app
def show_command(app: App, session: str, viewer: str, form: Form) -> None:
    """Show who holds SESSION's lease, whether that is you, and who is attached.

    \b
    orchctl lease show work
    orchctl lease show work --template '{lease.who}'

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        state = client.lease(session, viewer=viewer)
    form.one(state, lambda: _show(state.lease, state.viewers, yours=state.yours))


@lease_command.command("take")
@click.option("--ttl", "ttl_s", type=DURATION, default="10m", show_default=True, metavar="D", help="How long it lasts.")
@click.option("--force", is_flag=True, help="Take it from whoever holds it; that one is told.")
@click.option("--wait", "wait_s", type=DURATION, default="0s", metavar="D", help="Wait so long for it to be free.")
@lease_option
@click.argument("session")
@forms
@pass_app
def take_command(app: App, session: str, ttl_s: float, force: bool, wait_s: float, viewer: str, form: Form) -> None:
    """Keep others from typing into SESSION, and print the token that lets you.

    It ends after --ttl, or with 'lease release'. With a token that you have already, or in the terminal
    that has it, it lasts that long from now on. Commands in the same terminal need no token.

    \b
    orchctl lease take work && orchctl exec work make; orchctl lease release work
    export ORCHCTL_LEASE=$(orchctl lease take work --ttl 10m)      for scripts without a terminal

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 5 somebody else holds it;
    8 no supervisor answers.
    """
    import secrets

    token = viewer or secrets.token_hex(16)
    with app.client() as client:
        taken = client.take_lease(session, viewer=token, ttl_s=ttl_s, force=force, wait_s=wait_s, terminal=terminal())
    form.one({"token": token, "lease": taken}, lambda: click.echo(token))


@lease_command.command("release")
@lease_option
@click.argument("session")
@forms
@pass_app
def release_command(app: App, session: str, viewer: str, form: Form) -> None:
    """Let go of SESSION's lease, which this terminal, --lease or ORCHCTL_LEASE holds.

    \b
    orchctl lease release work

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 5 the token does not hold the
    lease; 8 no supervisor answers.
    """
    with app.client() as client:
        client.release_lease(session, viewer=_token(viewer))
    form.one({"released": session})


@lease_command.command("transfer")
@click.option("--to", required=True, metavar="WHO", help="An attached viewer, by its name or its manager.")
@click.option("--return", "give_back", is_flag=True, help="Have it back when that one lets go.")
@lease_option
@click.argument("session")
@forms
@pass_app
def transfer_command(app: App, session: str, to: str, give_back: bool, viewer: str, form: Form) -> None:
    """Hand SESSION's lease to somebody who is attached; 'lease show' lists them.

    \b
    orchctl lease transfer work --to user --return

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 5 the token does not hold the
    lease, or nobody of that name can have it; 8 no supervisor answers.
    """
    with app.client() as client:
        given = client.transfer_lease(session, viewer=_token(viewer), to=to, give_back=give_back)
    form.one(given)


def terminal() -> str | None:
    """Where the caller is, if that is a terminal."""
    return next((os.ttyname(fd) for fd in (0, 1, 2) if os.isatty(fd)), None)


def _token(viewer: str) -> str:
    if not viewer:
        raise click.UsageError("Give the token, because there is no terminal: --lease TOKEN, or ORCHCTL_LEASE.")
    return viewer


def _show(lease: Lease | None, viewers: tuple[Viewer, ...], *, yours: bool) -> None:
    click.echo(one_line(lease_of(lease)) + (" (yours)" if yours else ""))
    for viewer in viewers:
        reads = " looks on" if viewer.read_only else ""
        at = f" at {viewer.terminal}" if viewer.terminal else ""
        click.echo(one_line(f"{viewer.name}  {viewer.who}{at}{reads}, {age(time.time() - viewer.since)}"))
