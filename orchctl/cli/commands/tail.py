"""`tail`: look back, and follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchctl.cli.app import App, pass_app
from orchctl.cli.follow import choose_view, exit_code, show, show_with_times
from orchctl.cli.moments import Point, PointInTime
from orchctl.client.output import OutputStream, write_all
from orchctl.model.stream import Chunk

if TYPE_CHECKING:
    from orchctl.client.client import Client


class LineCount(click.ParamType[int | str]):
    """A number of lines, or `all`."""

    name = "lines"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or `all`."""
        text = str(value)
        if text == "all":
            return text
        if not (text.isascii() and text.isdigit()) or int(text) > 1 << 40:
            self.fail(f"{text!r} is neither a number of lines nor 'all'", param, ctx)
        return int(text)


@click.command("tail")
@click.option("-f", "--follow", is_flag=True, help="Go on until the session is closed.")
@click.option("-n", "lines", type=LineCount(), default=None, metavar="N|all", help="How many lines; 10 by default.")
@click.option("--since", type=PointInTime(), metavar="5m|TIME|@OFFSET", help="From then on.")
@click.option("--until", type=PointInTime(), metavar="5m|TIME|@OFFSET", help="Up to then.")
@click.option("-t", "--times", is_flag=True, help="The time in front of each line.")
@click.option("--stream", type=click.Choice(["out", "err"]), help="Of a session without a terminal, one of both.")
@click.option("--raw", is_flag=True, help="The bytes as the program wrote them to its terminal.")
@click.option("--command", "number", type=click.IntRange(1), metavar="N", help="The output of the N-th command alone.")
@click.option("--exit-status", is_flag=True, help="End with the session's exit code; waits for it with -f.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a chunk: offset, and output or output_b64.")
@click.argument("session")
@pass_app
def tail_command(
    app: App,
    session: str,
    follow: bool,
    lines: int | str | None,
    since: Point | None,
    until: Point | None,
    times: bool,
    stream: str | None,
    raw: bool,
    number: int | None,
    exit_status: bool,
    as_json: bool,
) -> int:
    """Show the last lines of SESSION's output; with -f, what follows too.

    Into a pipe the output comes as the program wrote it, with newlines as newlines; on a terminal
    everything but text and colour is made visible. The supervisor may die and come back meanwhile:
    no byte is lost or shown twice.

    \b
    orchctl tail -n 100 db
    orchctl tail -f --raw db > copy
    orchctl tail -t --since 10m --until 5m db

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers. With --exit-status: the
    session's own, 125 for any trouble of orchctl's.
    """
    if lines is not None and since is not None:
        raise click.UsageError("Give -n or --since, not both.")
    with app.client() as client:
        if number is not None:
            return _one_command(client, session, number, raw=raw)
        since, until = since or Point(), until or Point()
        everything = lines == "all" or (lines is None and since != Point())
        found = client.output(
            session,
            offset=since.offset,
            since=since.unix_s,
            lines=None if everything else 10 if lines is None else int(lines),
            until=until.unix_s,
            until_offset=until.offset,
            follow=follow,
            times=times or stream is not None,
            stream={"out": 1, "err": 2}.get(stream or ""),
        )
        if as_json:
            _as_json(found)
        elif times:
            show_with_times(found, choose_view(raw=raw))
        else:
            show(found, choose_view(raw=raw))
        ended = found.session
        if exit_status and ended is not None:
            return exit_code(ended)
    return 0


def _one_command(client: Client, session: str, number: int, *, raw: bool) -> int:
    command = next((one for one in client.history(session) if one.number == number), None)
    if command is None:
        raise click.UsageError(f"There is no command {number}; 'orchctl history' shows them.")
    stream = client.output(session, offset=command.start_offset, follow=command.end_offset is None)
    show(stream, choose_view(raw=raw), until=command.end_offset)
    return 0


def _as_json(stream: OutputStream) -> None:
    import base64
    import json

    for piece in stream:
        line: dict[str, object]
        if isinstance(piece, Chunk):
            line = {"type": "output", "offset": piece.offset}
            if stream.time_of_next is not None:
                line["time"] = stream.time_of_next
            try:
                line["output"] = piece.data.decode()
            except UnicodeDecodeError:
                line["output_b64"] = base64.b64encode(piece.data).decode("ascii")
        else:
            line = {"type": "gap", "first": piece.first, "end": piece.end}
        write_all(1, json.dumps(line).encode() + b"\n")
