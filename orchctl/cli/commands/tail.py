"""`tail`: look back, and follow."""

from __future__ import annotations

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.follow import Follower, choose_view, show
from orchctl.client.output import OutputStream, write_all
from orchctl.model.stream import Chunk


class LineCount(click.ParamType[int | None]):
    """A number of lines, or `all`."""

    name = "lines"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """None for all."""
        text = str(value)
        if text == "all":
            return None
        if not (text.isascii() and text.isdigit()) or int(text) > 1 << 40:
            self.fail(f"{text!r} is neither a number of lines nor 'all'", param, ctx)
        return int(text)


@click.command("tail")
@click.option("-f", "--follow", is_flag=True, help="Go on until the session is closed.")
@click.option("-n", "lines", type=LineCount(), default="10", show_default=True, metavar="N|all", help="How many lines.")
@click.option("--raw", is_flag=True, help="The bytes as the program wrote them to its terminal.")
@click.option("--exit-status", is_flag=True, help="End with the session's exit code; waits for it with -f.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a chunk: offset, and output or output_b64.")
@click.argument("session")
@pass_app
def tail_command(
    app: App, session: str, follow: bool, lines: int | None, raw: bool, exit_status: bool, as_json: bool
) -> int:
    """Show the last lines of SESSION's output; with -f, what follows too.

    Into a pipe the output comes as the program wrote it, with newlines as newlines; on a terminal
    everything but text and colour is made visible. The supervisor may die and come back meanwhile:
    no byte is lost or shown twice.

    \b
    orchctl tail -n 100 db
    orchctl tail -f --raw db > copy

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers. With --exit-status: the
    session's own, 125 for any trouble of orchctl's.
    """
    with app.client() as client:
        stream = client.output(session, lines=lines, follow=follow)
        if as_json:
            _as_json(stream)
        else:
            show(stream, choose_view(raw=raw))
        ended = stream.session
        if exit_status and ended is not None:
            return Follower(client, ended.id).exit_code(ended)
    return 0


def _as_json(stream: OutputStream) -> None:
    import base64
    import json

    for piece in stream:
        line: dict[str, object]
        if isinstance(piece, Chunk):
            line = {"type": "output", "offset": piece.offset}
            try:
                line["output"] = piece.data.decode()
            except UnicodeDecodeError:
                line["output_b64"] = base64.b64encode(piece.data).decode("ascii")
        else:
            line = {"type": "gap", "first": piece.first, "end": piece.end}
        write_all(1, json.dumps(line).encode() + b"\n")
