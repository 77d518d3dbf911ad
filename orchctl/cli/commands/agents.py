"""`pending`, `approve`, `deny`, `answer` and `harness list`: what agents ask, the replies, and which there are."""

from __future__ import annotations

import time

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.output import Form, forms, table
from orchctl.cli.tables import age
from orchctl.session.agent import HarnessStatus, Pending
from orchctl.terminal import one_line

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


@click.group("harness")
def harness_command() -> None:
    """Look at the agent harnesses: programs whose servers hold conversations.

    \b
    orchctl harness list

    \b
    Exit codes: 0; 2 usage; 8 no supervisor answers.
    """


@harness_command.command("list")
@forms
@pass_app
def list_command(app: App, form: Form) -> None:
    """Show which harnesses are installed, their versions, and which servers of theirs run; profiles too.

    A version that was never tried may work; 'spawn' warns about it. LEFT are processes that servers run now;
    those that a session left behind end with its server.

    \b
    orchctl harness list
    orchctl harness list --json

    \b
    Exit codes: 0; 2 usage; 8 no supervisor answers.
    """
    with app.client() as client:
        found = client.harnesses()
    head = ["PROFILE", "HARNESS", "VERSION", "TESTED", "SERVERS", "SESSIONS", "LEFT", "PROGRAM"]
    form.several(found, lambda: table(head, [_harness_line(one) for one in found]), key="name")


def _harness_line(one: HarnessStatus) -> list[str]:
    version = one.version or "-" if one.installed else "not installed"
    mark = "" if one.is_tested or not one.installed else " (untested)"
    sessions = sum(len(server.sessions) for server in one.servers)
    left = sum(len(server.leftover) for server in one.servers)
    tested = f"{one.tested[0]} to {one.tested[1]}" if len(one.tested) == 2 else "-"
    program = one.program or one.install
    return [one.name, one.harness, version + mark, tested, str(len(one.servers)), str(sessions), str(left), program]
