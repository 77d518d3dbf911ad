"""Showing a session's output as it comes, and staying with it to its end."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from orchctl.cli.interrupts import PassOn, end_by_signal
from orchctl.client.output import write_all
from orchctl.session.model import EndReason, Session
from orchctl.session.stream import Chunk, Gap
from orchctl.terminal.views import RawView, SafeView, TextView, View

if TYPE_CHECKING:
    from orchctl.client.client import Client
    from orchctl.client.output import OutputStream


def choose_view(*, raw: bool, plain: bool = False, live: bool = True) -> View:
    """Raw or plain if asked; else safe on a terminal, text into a pipe. What is not live comes in whole lines."""
    if raw:
        return RawView()
    if plain:
        from orchctl.terminal.views import PlainView

        return PlainView()
    return SafeView(live=live) if os.isatty(1) else TextView()


def show(stream: OutputStream, view: View, *, until: int | None = None) -> None:
    """Every piece as it comes, flushed at once; up to the offset `until` if there is one."""
    for piece in stream:
        view = _fitting(stream, view)
        if isinstance(piece, Chunk):
            data = piece.data if until is None else piece.data[: max(0, until - piece.offset)]
            write_all(1, view.feed(stream.shown(Chunk(piece.offset, data))))
            if until is not None and piece.end >= until:
                stream.close()
                break
        elif isinstance(piece, Gap):
            write_all(1, view.feed(stream.rest()) + view.end())
            say_gap(piece)
    write_all(1, view.feed(stream.rest()) + view.end())


def _fitting(stream: OutputStream, view: View) -> View:
    """A session without a terminal has nothing to undo."""
    if isinstance(view, SafeView):
        view.program = stream.program
    plain = stream.session is not None and stream.session.backend != "pty"
    return RawView() if plain and isinstance(view, TextView) else view


def show_with_times(stream: OutputStream, view: View) -> None:
    """The same, with the time at which each line began in front of it."""
    from orchctl.cli.moments import clock

    at_start = True
    for piece in stream:
        if isinstance(piece, Gap):
            say_gap(piece)
            continue
        view = _fitting(stream, view)
        front = f"{clock(stream.time_of_next)} ".encode()
        text = view.feed(stream.shown(piece))
        *lines, rest = text.split(b"\n")
        begun = [line if number == 0 and not at_start else front + line for number, line in enumerate(lines)]
        rest = front + rest if rest and (lines or at_start) else rest
        write_all(1, b"\n".join([*begun, rest]))
        at_start = text.endswith(b"\n") if text else at_start
    write_all(1, view.feed(stream.rest()) + view.end())


def say_gap(gap: Gap, name: str = "") -> None:
    """What is missing, on stderr."""
    whose = f" of {name}" if name else ""
    sys.stderr.write(f"orchctl: bytes {gap.first} to {gap.end - 1}{whose} are no longer kept\n")


def stay(client: Client, session: str, *, visible: bool) -> tuple[Session, int]:
    """The session when it is closed, and the exit code to end with; its output on the way if `visible`."""
    with PassOn(client, session) as interrupts:
        if visible:
            show(client.output(session, follow=True, commands=True), choose_view(raw=False))
        ended = client.wait(session)
    if interrupts.happened and ended.signal == signal.SIGINT:
        end_by_signal(signal.SIGINT)
    return ended, exit_code(ended)


def exit_code(ended: Session) -> int:
    """The program's own, as a shell would say it; a lost session has none and is our trouble."""
    if ended.end_reason in (EndReason.TIMEOUT, EndReason.IDLE_TIMEOUT):
        sys.stderr.write(f"orchctl: session {ended.id} was ended: {ended.end_reason}\n")
        return 124
    if ended.end_reason is EndReason.LOST or ended.exit_status is None:
        sys.stderr.write(f"orchctl: session {ended.id} is lost: nobody can tell how it ended\n")
        return 125
    return ended.exit_status
