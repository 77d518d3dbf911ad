"""`screen`: what a terminal shows now."""

from __future__ import annotations

import os

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.output import Form, forms, write_all
from orchctl.terminal import visible

FORMS = ("text", "ansi", "json")


@click.command("screen")
@click.argument("session")
@click.option("--as", "shape", type=click.Choice(FORMS), default="text", show_default=True, help="In which form.")
@forms
@pass_app
def screen_command(app: App, session: str, shape: str, form: Form) -> None:
    """Show what SESSION's terminal shows now; of an ended session, what it showed last.

    One line for each row. The output of its newest run is played to a terminal emulator, in the sizes that the
    terminal had, by a process of its own. As json there are also the cursor, the size, whether the alternate screen is
    on, and the title. It needs the optional terminal emulator; 'orchctl doctor' prints the command that installs it.

    \b
    orchctl screen editor
    orchctl screen --as ansi editor
    orchctl screen editor --template '{cursor.x},{cursor.y} {title}'

    \b
    Exit codes: 0; 1 the emulator is not installed; 2 usage; 3 no such session; 5 it has no terminal; 8 no
    supervisor answers.
    """
    if shape == "json" and form.words:
        form = Form(as_json=True)
        app.as_json = True
    with app.client() as client:
        found = client.screen(session)
    if found.dropped_bytes and not form.quiet:
        message = (
            f"orchctl: {found.dropped_bytes} bytes of its output are no longer kept; the screen may lack something"
        )
        click.echo(message, err=True)
    text = found.ansi if shape == "ansi" else "\n".join(found.lines)
    form.one(found, lambda: write_all(1, (visible(text) if os.isatty(1) else text).encode() + b"\n"))
