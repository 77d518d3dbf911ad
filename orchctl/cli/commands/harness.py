"""`harness list`: which agent harnesses there are."""

from __future__ import annotations

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.columns import table
from orchctl.cli.output import Form, forms
from orchctl.session.agent import HarnessStatus


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
    form.several(found, lambda: table(head, [_line(one) for one in found]), key="name")


def _line(one: HarnessStatus) -> list[str]:
    version = one.version or "-" if one.installed else "not installed"
    mark = "" if one.is_tested or not one.installed else " (untested)"
    sessions = sum(len(server.sessions) for server in one.servers)
    left = sum(len(server.leftover) for server in one.servers)
    tested = f"{one.tested[0]} to {one.tested[1]}" if len(one.tested) == 2 else "-"
    program = one.program or one.install
    return [one.name, one.harness, version + mark, tested, str(len(one.servers)), str(sessions), str(left), program]
