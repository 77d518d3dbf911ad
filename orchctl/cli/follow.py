"""Showing a session's output as it comes, with the session's name in front of lines where several are shown."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchctl.cli.interrupts import PassOn, end_by_signal, exit_code
from orchctl.cli.options import clock
from orchctl.cli.output import PREFIXES, paint, write_all
from orchctl.client.streams import OutputReading
from orchctl.session.model import Session
from orchctl.session.stream import Chunk, Gap
from orchctl.terminal.views import RawView, SafeView, TextView, View

if TYPE_CHECKING:
    from orchctl.client.blocking import Client
    from orchctl.client.several import AnyReader
    from orchctl.client.streams import OutputStream


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


LINE_LIMIT = 1 << 16  # a longer line is shown in parts


class _Member:
    def __init__(self, number: int, view: View) -> None:
        self.colour = PREFIXES[number % len(PREFIXES)]
        self.view = view
        self.line = b""  # begun and not yet shown


class Prefixed:
    """Takes pieces in any order; a line that was shown before its end is ended when somebody else writes."""

    def __init__(self, view: Callable[[], View], *, colour: bool, prefix: bool, times: bool) -> None:
        self._view = view
        self._colour = colour
        self._prefix = prefix
        self._times = times
        self._members: dict[str, _Member] = {}
        self._width = 0
        self._open: str | None = None  # whose line on stdout has no end yet

    def expect(self, sessions: list[Session]) -> None:
        """Room for their names."""
        self._width = max([self._width, *(len(_name(session)) for session in sessions)])

    def take(self, reader: AnyReader, chunk: Chunk) -> None:
        """Show the lines that it ends."""
        member = self._member(reader.session)
        if isinstance(member.view, SafeView) and isinstance(reader, OutputReading):
            member.view.program = reader.program
        data = reader.shown(chunk) if isinstance(reader, OutputReading) else chunk.data
        self._show(reader, member, member.view.feed(data))

    def end(self, reader: AnyReader) -> None:
        """Show what is left of it."""
        member = self._member(reader.session)
        rest = reader.rest() if isinstance(reader, OutputReading) else b""
        self._show(reader, member, member.view.feed(rest) + member.view.end())
        self._flush(reader, member)

    def silence(self, readers: list[AnyReader]) -> None:
        """Nothing has come for a moment: a prompt, or the beginning of a line, is shown as it is."""
        for reader in readers:
            self._flush(reader, self._member(reader.session))

    def interrupt(self) -> None:
        """End an open line, for something else to be said."""
        if self._open is not None:
            write_all(1, b"\n")
            self._open = None

    def _member(self, session: Session) -> _Member:
        if session.id not in self._members:
            view = self._view()
            if session.backend != "pty" and isinstance(view, TextView):
                view = RawView()  # without a terminal there is nothing to undo
            self._members[session.id] = _Member(len(self._members), view)
            self.expect([session])
        return self._members[session.id]

    def _show(self, reader: AnyReader, member: _Member, text: bytes) -> None:
        *lines, rest = (member.line + text).split(b"\n")
        front = self._front(reader, member)
        shown = b""
        for line in lines:
            shown += self._begin(reader.session.id, front) + line + b"\n"
            self._open = None
        member.line = rest
        write_all(1, shown)
        if len(rest) > LINE_LIMIT:
            self._flush(reader, member)

    def _flush(self, reader: AnyReader, member: _Member) -> None:
        if member.line:
            write_all(1, self._begin(reader.session.id, self._front(reader, member)) + member.line)
            member.line, self._open = b"", reader.session.id

    def _begin(self, session: str, front: bytes) -> bytes:
        """What stands before the next bytes of a session: nothing, if its own line is open."""
        if self._open == session:
            return b""
        return (b"" if self._open is None else b"\n") + front

    def _front(self, reader: AnyReader, member: _Member) -> bytes:
        name = f"{_name(reader.session):<{self._width}} | " if self._prefix else ""
        time = f"{clock(reader.time_of_next)} " if self._times else ""
        return f"{time}{paint(name, member.colour, on=self._colour)}".encode()


def _name(session: Session) -> str:
    return session.name or session.id[:8]
