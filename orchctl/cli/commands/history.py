"""`history` and `interrupt`."""

from __future__ import annotations

import time

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.output import Form, forms
from orchctl.session.command import Command
from orchctl.terminal import one_line


@click.command("history")
@click.option("--failed", is_flag=True, help="Only those that did not exit with 0.")
@click.argument("session")
@forms
@pass_app
def history_command(app: App, session: str, failed: bool, form: Form) -> None:
    """Show the commands run in SESSION's shell: number, exit code, seconds, directory, text.

    \b
    orchctl history work
    orchctl history --failed work

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers.
    """
    with app.client() as client:
        commands = [one for one in client.history(session) if not failed or one.exit_code not in (0, None)]
    form.several(commands, lambda: _show(commands), key="number")


def _show(commands: list[Command]) -> None:
    for command in commands:
        code = "-" if command.exit_code is None else str(command.exit_code)
        seconds = time.time() - command.started_at if command.duration_s is None else command.duration_s
        cwd, text = one_line(command.cwd or "-"), one_line(command.text)
        click.echo(f"{command.number:>4}  {code:>3}  {seconds:8.2f}  {cwd}  {text}")


@click.command("interrupt")
@click.argument("session")
@forms
@pass_app
def interrupt_command(app: App, session: str, form: Form) -> None:
    """Do what Ctrl-C does in SESSION, by signal and not by typing: no output is thrown away.

    \b
    orchctl interrupt work

    \b
    Exit codes: 0; 2 usage; 3 no such session, or it has ended; 8 no supervisor answers.
    """
    with app.client() as client:
        client.interrupt(session)
    form.one({"interrupted": session})
