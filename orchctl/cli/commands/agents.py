"""`pending`, `approve`, `deny` and `answer`: what agents ask, and the replies."""

from __future__ import annotations

import time

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.columns import table
from orchctl.cli.output import Form, forms
from orchctl.cli.tables import age
from orchctl.session.agent import Pending
from orchctl.terminal.views import one_line

_request = click.option("--request", metavar="ID", help="Which of several that are pending.")


@click.command("pending")
@click.argument("sessions", nargs=-1)
@forms
@pass_app
def pending_command(app: App, sessions: tuple[str, ...], form: Form) -> None:
    """Show what agents wait for a human to say: in SESSIONS, or in all live ones; oldest first.

    \b
    orchctl pending
    orchctl pending agent --json

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        found = client.pending(*sessions)
    lines = [_line(one) for one in found]
    form.several(found, lambda: table(["SESSION", "SINCE", "NEED", "REQUEST", "WHAT"], lines), key="request")


@click.command("approve")
@_request
@click.option("--always", is_flag=True, help="And the like of it from now on, where the harness knows that.")
@click.argument("session")
@forms
@pass_app
def approve_command(app: App, session: str, request: str | None, always: bool, form: Form) -> None:
    """Let the agent in SESSION do what it asks for.

    \b
    orchctl approve agent
    orchctl approve agent --request 3 --always

    \b
    Exit codes: 0; 2 usage, or it asks several things; 3 no such session, or it has ended; 5 it asks
    nothing, or was answered already; 8 no supervisor answers.
    """
    with app.client() as client:
        form.one(client.approve(session, request=request, always=always))


@click.command("deny")
@_request
@click.argument("session")
@forms
@pass_app
def deny_command(app: App, session: str, request: str | None, form: Form) -> None:
    """Do not let the agent in SESSION do what it asks for; its turn goes on without.

    \b
    orchctl deny agent

    \b
    Exit codes: 0; 2 usage, or it asks several things; 3 no such session, or it has ended; 5 it asks
    nothing, or was answered already; 8 no supervisor answers.
    """
    with app.client() as client:
        form.one(client.deny(session, request=request))


@click.command("answer")
@_request
@click.argument("session")
@click.argument("text")
@forms
@pass_app
def answer_command(app: App, session: str, text: str, request: str | None, form: Form) -> None:
    """Answer the question of the agent in SESSION: one of its choices, or any TEXT where that is an answer.

    \b
    orchctl answer agent 'the second one'

    \b
    Exit codes: 0; 2 usage, no such choice, or it asks several things; 3 no such session, or it has
    ended; 5 it asks nothing, or was answered already; 8 no supervisor answers.
    """
    with app.client() as client:
        form.one(client.answer(session, text, request=request))


def _line(one: Pending) -> list[str]:
    title = one_line(one.title)
    return [one.name or one.session[:8], age(max(0.0, time.time() - one.since)), one.need, one.request, title]
