"""`send`: type into a session."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from orchctl.cli.app import App, pass_app, refuse_if
from orchctl.cli.options import lease_option, lease_wait_option
from orchctl.cli.output import Form, forms
from orchctl.session.stream import Chunk
from orchctl.terminal.keys import key_bytes

if TYPE_CHECKING:
    from orchctl.client.blocking import Client

LOOKED_AT = 1 << 20  # bytes of the log in which the program's word about pastes is looked for
_PASTE_MODE = re.compile(rb"\x1b\[\?2004([hl])")


class Key(click.ParamType[bytes]):
    """The name of a key."""

    name = "key"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        found = value if isinstance(value, bytes) else key_bytes(str(value))
        if found is None:
            self.fail(
                f"{value!r} is not a key such as C-c, M-x, Enter, Tab, Escape, Up, PageDown, F5 or a single character",
                param,
                ctx,
            )
        return found


@click.command("send", context_settings={"allow_interspersed_args": True, "max_content_width": 100})
@click.option("--key", "keys", type=Key(), multiple=True, metavar="C-c", help="Press a key; repeatable, after TEXT.")
@click.option("--no-enter", is_flag=True, help="Do not press Enter after TEXT.")
@click.option("--paste", is_flag=True, help="As a paste: marked as one if the program asked for that.")
@click.option("--stdin", "with_stdin", is_flag=True, help="Type what comes on stdin, byte for byte.")
@click.option("--hex", "as_hex", is_flag=True, help="TEXT is bytes in hexadecimal, such as '1b 5b 41'.")
@click.option("--eof", is_flag=True, help="End the input of a session on pipes, after all of that.")
@click.option("--once", metavar="ID", help="Typed once, however often it is sent with this id.")
@lease_option
@lease_wait_option
@click.argument("session")
@click.argument("text", nargs=-1)
@forms
@pass_app
def send_command(
    app: App,
    session: str,
    text: tuple[str, ...],
    keys: tuple[bytes, ...],
    no_enter: bool,
    paste: bool,
    with_stdin: bool,
    as_hex: bool,
    eof: bool,
    once: str | None,
    viewer: str,
    lease_wait_s: float,
    form: Form,
) -> None:
    """Type TEXT into SESSION and press Enter. Words are joined by spaces.

    Returns when the terminal has taken all of it. A program that does not read, or a line longer
    than the terminal takes (4095 bytes), is an error that says how much was typed. Enter is pressed after
    TEXT only, not after keys, hexadecimal bytes or stdin. Keys: C-c, M-x, Enter, Tab, Escape, Up, PageDown,
    F5 and the like.

    \b
    orchctl send db 'select 1;'
    orchctl send menu --no-enter q
    orchctl send editor --key Escape --key C-x
    orchctl send work --paste --stdin < patch.diff
    orchctl send sorter --stdin --eof < words     after 'spawn --name sorter --no-pty --stdin=open sort'

    A session on pipes takes input only if it was started with --stdin=open, and until --eof. A terminal has
    no end: there --key C-d presses the key that a program in line mode takes for one.

    \b
    Exit codes: 0 typed; 2 usage; 3 no such session, or it has ended; 5 not all could be
    typed, its input has ended, or somebody else holds the lease; 8 no supervisor answers.
    """
    refuse_if(bool(text) + with_stdin > 1 or (as_hex and not text), "Give TEXT or --stdin; --hex is for TEXT.")
    refuse_if(not (text or keys or with_stdin or eof), "There is nothing to type.")
    data = sys.stdin.buffer.read() if with_stdin else _bytes(text, as_hex=as_hex)
    enter = bool(text) and not (no_enter or as_hex)
    with app.client() as client:
        if paste and data and _wants_marks(client, session):
            data = b"\x1b[200~" + data.replace(b"\x1b[201~", b"") + b"\x1b[201~"  # nothing may end it early
        if enter and keys:
            client.send(
                session, data, enter=True, once=once and f"{once}/text", viewer=viewer, lease_wait_s=lease_wait_s
            )
            data, enter = b"", False
        data += b"".join(keys)
        if data or enter:
            client.send(session, data, enter=enter, once=once, viewer=viewer, lease_wait_s=lease_wait_s)
        if eof:
            client.send_eof(session, once=once, viewer=viewer, lease_wait_s=lease_wait_s)
    form.one({"bytes": len(data)})


def _bytes(text: tuple[str, ...], *, as_hex: bool) -> bytes:
    if not as_hex:
        return os.fsencode(" ".join(text))
    try:
        return bytes.fromhex("".join(text))
    except ValueError:
        raise click.UsageError(f"{' '.join(text)!r} is not bytes in hexadecimal.") from None


def _wants_marks(client: Client, session: str) -> bool:
    """Whether the program has asked to be told what is pasted: the last word about it in its output counts."""
    found = client.info(session)
    start = max(found.output.first_offset, found.output.next_offset - LOOKED_AT)
    data = b"".join(piece.data for piece in client.output(found.id, offset=start) if isinstance(piece, Chunk))
    said = _PASTE_MODE.findall(data)
    return bool(said) and said[-1] == b"h"
