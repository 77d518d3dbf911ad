"""`send`: type into a session."""

from __future__ import annotations

import os

import click

from orchctl.cli.app import App, json_option, pass_app, quiet_option, show_json


@click.command("send", context_settings={"allow_interspersed_args": True})
@click.option("--no-enter", is_flag=True, help="Do not press Enter after TEXT.")
@json_option
@quiet_option
@click.argument("session")
@click.argument("text", nargs=-1)
@pass_app
def send_command(app: App, session: str, text: tuple[str, ...], no_enter: bool, as_json: bool, quiet: bool) -> None:
    """Type TEXT into SESSION and press Enter. Words are joined by spaces.

    Returns when the terminal has taken all of it. A program that does not read, or a line longer
    than the terminal takes (4095 bytes), is an error that says how much was typed.

    \b
    orchctl send db 'select 1;'
    orchctl send menu --no-enter q

    \b
    Exit codes: 0 typed; 2 usage; 3 no such session, or it has ended; 5 not all could be
    typed; 8 no supervisor answers.
    """
    if not text:
        raise click.UsageError("There is nothing to type.")
    data = os.fsencode(" ".join(text))
    with app.client() as client:
        client.send(session, data, enter=not no_enter)
    if as_json:
        show_json({"bytes": len(data)})
