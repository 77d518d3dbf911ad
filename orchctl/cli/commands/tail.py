"""`tail`: look back, and follow, one session or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchctl.cli import output
from orchctl.cli.app import App, end_with_reader, pass_app, refuse_if
from orchctl.cli.follow import choose_view, say_gap, show, show_with_times
from orchctl.cli.interrupts import exit_code
from orchctl.cli.options import Point, PointInTime, sessions_argument
from orchctl.cli.output import Form, forms, write_all
from orchctl.errors import Conflict, NoSuchSession
from orchctl.plain import text_or_base64
from orchctl.session.model import Selection, Session, State
from orchctl.session.stream import Chunk, Gap

if TYPE_CHECKING:
    from orchctl.client.blocking import Client
    from orchctl.client.several import SeveralOutputs

QUIET_S = 0.3  # after so long a line that was begun is shown without its end
STREAMS = {"out": 1, "err": 2}


class LineCount(click.ParamType[int | str]):
    """A number of lines, or `all`."""

    name = "lines"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value)
        if text == "all":
            return text
        if not (text.isascii() and text.isdigit()) or int(text) > 1 << 40:
            self.fail(f"{text!r} is neither a number of lines nor 'all'", param, ctx)
        return int(text)


@click.command("tail", context_settings={"max_content_width": 100})
@click.option("-f", "--follow", is_flag=True, help="Go on until the sessions are closed.")
@click.option(
    "-n", "--tail", "lines", type=LineCount(), default=None, metavar="N|all", help="How many lines; 10 by default."
)
@click.option("--since", type=PointInTime(), metavar="5m|TIME|@OFFSET", help="From then on.")
@click.option("--until", type=PointInTime(), metavar="5m|TIME|@OFFSET", help="Up to then.")
@click.option("-t", "--times", is_flag=True, help="The time in front of each line.")
@click.option("--prefix", is_flag=True, help="The session's name in front of each line; of several it is there.")
@click.option("--stream", type=click.Choice(list(STREAMS)), help="Of a session without a terminal, one of both.")
@click.option("--raw", is_flag=True, help="The bytes as the program wrote them to its terminal.")
@click.option("--plain", is_flag=True, help="Without escape sequences, lines as they stand in the end.")
@click.option("--command", "number", type=click.IntRange(1), metavar="N", help="The output of the N-th command alone.")
@click.option("--exit-status", is_flag=True, help="End with the session's exit code; waits for it with -f.")
@sessions_argument()
@forms
@pass_app
def tail_command(app: App, /, selection: Selection, form: Form, **given: Any) -> int:
    """Show the last lines of SESSIONS' output; with -f, what follows too.

    Into a pipe the output comes as the program wrote it, with newlines as newlines. On a terminal you get
    text and colour: lines as they stand in the end, a full-screen program as one line, and sequences that
    could act on your terminal spelled out. Commands run by exec are shown as you gave them, long ones cut
    with '…'; --raw and --json show the log as it is. The supervisor may die and come back meanwhile:
    no byte is lost or shown twice. Of several sessions each line has its session's name in front. With
    -f and a manager, label or repository, those that live are shown and new ones join; ended ones are shown
    too where -n or --since asks for what was. With --json, one object a chunk; of a conversation with an
    agent, its events, what it says among them.

    \b
    orchctl tail -n 100 db
    orchctl tail -f --raw db > copy
    orchctl tail -t --since 10m --until 5m db
    orchctl tail -f @orchestrator:coordinator-001

    \b
    Exit codes: 0; 2 usage; 3 no such session; 8 no supervisor answers. With --exit-status: the
    session's own, of several 0 if all ended with 0, else 1; 125 for any trouble of orchctl's.
    """
    lines, since, until = given["lines"], given["since"] or Point(), given["until"] or Point()
    refuse_if(lines is not None and since != Point(), "Give -n or --since, not both.")
    refuse_if(given["raw"] and given["plain"], "--raw and --plain exclude each other.")
    refuse_if(
        not selection.single and (given["number"] is not None or given["stream"] is not None),
        "--command and --stream are for one session.",
    )
    refuse_if(
        not selection.single and (since.offset is not None or until.offset is not None),
        "An offset is a place in one session's output; give a time.",
    )
    everything = lines == "all" or (lines is None and since != Point())
    where = {
        "offset": since.offset,
        "since": since.unix_s,
        "lines": None if everything else 10 if lines is None else int(lines),
        "until": until.unix_s,
        "until_offset": until.offset,
        "follow": given["follow"],
    }
    if given["follow"]:
        end_with_reader()
    with app.client() as client:
        if given["number"] is not None:
            return _one_command(client, selection.sessions[0], given)
        if selection.single and not given["prefix"]:
            ended = [_one(app, client, selection, where, form, given)]
        else:
            ended = _several(app, client, selection, where, form, given)
    return _status(ended, several=not selection.single) if given["exit_status"] else 0


def _one(
    app: App, client: Client, selection: Selection, where: dict[str, Any], form: Form, given: dict[str, Any]
) -> Session | None:
    (session,) = selection.sessions
    if not form.words and not given["raw"] and client.info(session).agent is not None:
        return _several(app, client, selection, where, form, given)[0]
    wanted = STREAMS.get(given["stream"] or "")
    found = client.output(
        session,
        **where,
        times=given["times"] or wanted is not None,
        stream=wanted,
        raw=given["raw"],
        commands=form.words and not given["raw"],
    )
    if form.as_json or form.template is not None:
        for piece in found:
            assert found.session is not None
            write_all(1, form.line(_object(found.session, piece, found.time_of_next)))
    elif form.quiet:
        for _ in found:
            pass
    elif given["times"]:
        show_with_times(found, choose_view(raw=given["raw"], plain=given["plain"], live=given["follow"]))
    else:
        show(found, choose_view(raw=given["raw"], plain=given["plain"], live=given["follow"]))
    return found.session


def _several(
    app: App, client: Client, selection: Selection, where: dict[str, Any], form: Form, given: dict[str, Any]
) -> list[Session | None]:
    outputs = client.outputs(
        selection,
        **where,
        times=given["times"],
        ended_too=not where["follow"] or given["lines"] is not None or given["since"] is not None,
        quiet_s=QUIET_S if form.words else None,
        stories=not form.words and not given["raw"],
        commands=form.words and not given["raw"],
    )
    if not outputs.readers and not (where["follow"] and selection.open):
        raise NoSuchSession("no session matches; 'orchctl list -a' shows all")
    if form.words:
        _show_several(app, selection, outputs, given)
    else:
        for reader, piece in outputs:
            if reader is not None and piece is not None and not form.quiet:
                told = piece if isinstance(piece, dict) else _object(reader.session, piece, reader.time_of_next)
                write_all(1, form.line(told))
    return [reader.session for reader in outputs.readers.values()]


def _show_several(app: App, selection: Selection, outputs: SeveralOutputs, given: dict[str, Any]) -> None:
    from orchctl.cli.follow import Prefixed

    if not outputs.readers:
        click.echo("orchctl: no live session matches yet; waiting for the first", err=True)
    shown = Prefixed(
        lambda: choose_view(raw=given["raw"], plain=given["plain"], live=given["follow"]),
        colour=output.on_stdout(app.colour),
        prefix=given["prefix"] or not selection.single,
        times=given["times"],
    )
    shown.expect([reader.session for reader in outputs.readers.values()])
    for reader, piece in outputs:
        if reader is None:
            shown.silence(list(outputs.readers.values()))
        elif isinstance(piece, Chunk):
            shown.take(reader, piece)
        elif isinstance(piece, Gap):
            shown.interrupt()
            say_gap(piece, reader.session.name or reader.session.id)
        else:
            shown.end(reader)
    shown.interrupt()


def _status(ended: list[Session | None], *, several: bool) -> int:
    """The program's own code; of several, whether all went well. One that goes on has none yet."""
    codes = []
    for session in ended:
        if session is not None and session.state is not State.CLOSED:
            raise Conflict(f"session {session.name or session.id} has not ended", code="not-ended")
        codes.append(125 if session is None else exit_code(session))
    return int(any(codes)) if several else codes[0]


def _one_command(client: Client, session: str, given: dict[str, Any]) -> int:
    number = given["number"]
    command = next((one for one in client.history(session) if one.number == number), None)
    if command is None:
        raise click.UsageError(f"There is no command {number}; 'orchctl history' shows them.")
    stream = client.output(session, offset=command.start_offset, follow=command.end_offset is None)
    view = choose_view(raw=given["raw"], plain=given["plain"], live=command.end_offset is None)
    show(stream, view, until=command.end_offset)
    return 0


def _object(session: Session, piece: Chunk | Gap, time: float | None) -> dict[str, Any]:
    if isinstance(piece, Gap):
        return {"type": "gap", "session": session.id, "first": piece.first, "end": piece.end}
    told: dict[str, Any] = {"type": "output", "session": session.id, "offset": piece.offset}
    if time is not None:
        told["time"] = time
    return told | text_or_base64("output", piece.data)
