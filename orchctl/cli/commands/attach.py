"""`attach`: a session in one's own terminal."""

from __future__ import annotations

import click

from orchctl.cli.app import App, pass_app, refuse_if
from orchctl.cli.interrupts import work_in
from orchctl.cli.output import Form, forms


@click.command("attach", context_settings={"max_content_width": 100})
@click.option("--read-only", is_flag=True, help="Look on: type nothing, change no size. Ctrl-C detaches too.")
@click.option("--take", is_flag=True, help="Take the right to type at once, from whoever has it.")
@click.option(
    "--detach-keys", metavar="KEYS", help=r"What leaves it, such as 'ctrl-p,ctrl-q'; default: the setting detach_keys."
)
@click.argument("session")
@forms
@pass_app
def attach_command(app: App, session: str, read_only: bool, take: bool, detach_keys: str | None, form: Form) -> int:
    """Work in SESSION with your own terminal. Ctrl-\\ Ctrl-D leaves it running.

    The first key takes the right to type, the lease, if nobody has it; after 30 s without a key it is
    free again, so a silent viewer keeps nobody out. While another has it, what you type is dropped, and a
    line at the top says so; Ctrl-\\ Ctrl-T takes it over. The session's terminal gets the size of yours
    while you may type. Commands that others run by exec are shown as they were given. The supervisor
    may die and come back meanwhile. A Ctrl-\\ alone reaches the program after a second, or with the next
    key.

    \b
    orchctl attach work
    orchctl attach --read-only @last
    orchctl attach --detach-keys ctrl-p,ctrl-q db

    \b
    Exit codes: the session's own when it ends, 128+N for signal N, 124 if its time was over; 0 when
    detached; 125 for any trouble of orchctl's.
    """
    refuse_if(read_only and take, "--read-only and --take exclude each other.")
    with app.client() as client:
        return work_in(client, session, form, read_only=read_only, take=take, detach_keys=detach_keys)
