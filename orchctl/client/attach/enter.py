"""The way into a session with one's own terminal: what must hold, what is shown first, where it goes on live."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable

from orchctl.client.attach.loop import ENDING, Attachment, Left, Signals
from orchctl.client.attach.terminal import OwnTerminal
from orchctl.client.attach.viewer import Viewing
from orchctl.client.call import blocked
from orchctl.client.caller import Caller
from orchctl.client.calls import control, output, sessions
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.inherited import terminal_viewer
from orchctl.client.streams import OutputStream
from orchctl.errors import BadInput, Conflict, NoSuchSession, OrchctlError
from orchctl.protocol.messages import ReadOutput
from orchctl.session.model import Session, State
from orchctl.session.stream import Chunk
from orchctl.shell.marks import MarkCutter
from orchctl.shell.typed_lines import TypedLines
from orchctl.terminal import keys
from orchctl.terminal import replay as painting
from orchctl.terminal.keys import Keyboard
from orchctl.terminal.replay import Replay

REPLAYED_BYTES = 1 << 18  # without an emulator: more than any screen, and shown in a moment


Connect = Callable[[], Connection]


def attach(
    client: Caller, connect: Connect, session: str, *, read_only: bool, take: bool, detach_keys: str | None
) -> Left:
    """Until it is left; the terminal is as before then."""
    leaving = _keys(client, detach_keys)
    with OwnTerminal() as terminal:
        found = _enterable(client, connect, session)
        taking = keys.taking(leaving)
        holder = "" if read_only else _as_holder(client, found)
        said = None if read_only else _fit(client, found, terminal.size, holder)
        with Signals(*ENDING, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT) as signals:
            viewing = Viewing(
                found,
                own_manager=client._own_manager,
                terminal=terminal.name,
                size=terminal.size,
                said_size=said,
                read_only=read_only,
                take=take,
                holder=holder,
                take_keys=f"; {keys.spelled(taking)} takes over" if taking else "",
            )
            terminal.enter()
            try:
                return Attachment(
                    connect,
                    lambda shown: show(client, found, shown),
                    viewing,
                    terminal,
                    signals,
                    Keyboard(leaving),
                ).run()
            finally:
                terminal.leave()


def _keys(client: Caller, given: str | None) -> tuple[int, ...]:
    if given is None:
        from orchctl import config

        given = config.of(client.root).config.detach_keys
    try:
        return keys.parse(given)
    except ValueError as error:
        raise BadInput(str(error), code="bad-keys") from None


def _enterable(client: Caller, connect: Connect, session: str) -> Session:
    """A session that lives, has a terminal, and is not the one we run in."""
    found = blocked(sessions.info(client, session))
    name = found.name or found.id
    if found.state is State.CLOSED:
        raise NoSuchSession(f"session {name} has ended; 'orchctl tail' shows what it wrote", code="session-ended")
    if found.backend != "pty":
        raise Conflict(
            f"session {name} has no terminal; 'orchctl tail -f' follows it, 'orchctl send' types into it",
            code="no-terminal",
        )
    _check_not_own(client, connect, found)
    return found


def _check_not_own(client: Caller, connect: Connect, session: Session) -> None:
    """Before anything is changed: whoever follows a session is told if it is its own."""
    with contextlib.suppress(ConnectionLost):  # then it is told later
        connection = connect()
        try:
            connection.ask(ReadOutput(session=session.id, own_manager=client._own_manager, lines=0, follow=True))
        finally:
            connection.close()


def _as_holder(client: Caller, session: Session) -> str:
    """The secret under which this terminal has taken the lease, if it has: who enters from it may type."""
    own = terminal_viewer() if session.lease is not None else ""
    return own if own and blocked(control.lease(client, session.id, viewer=own)).yours else ""


def _fit(client: Caller, session: Session, size: tuple[int, int], viewer: str) -> tuple[int, int] | None:
    """Give it our terminal's size, unless somebody else types there; the size that it has by then, if it is ours."""
    if (session.cols, session.rows) == size:
        return size
    try:
        blocked(sessions.control(client, session.id, "resize", size=size, viewer=viewer))
    except OrchctlError as error:
        if error.code != "lease-held":
            raise
        return None
    return size


def show(client: Caller, session: Session, terminal: OwnTerminal) -> int:
    """What the session's terminal shows now; from which byte on the rest follows."""
    rows = terminal.size[1]
    try:
        made = blocked(output.painting(client, session))
    except OrchctlError:  # no emulator here
        terminal.write(painting.empty(rows))
        return _replay(client, session, terminal)
    terminal.write(painting.repaint(made, rows))
    return made.offset


def _replay(client: Caller, session: Session, terminal: OwnTerminal) -> int:
    """The end of the log, without what a terminal would answer."""
    kept = blocked(sessions.info(client, session.id)).output
    start = max(kept.first_offset, kept.next_offset - REPLAYED_BYTES)
    cutter, replay, end = MarkCutter(), Replay(), start
    log = output.output(client, session.id, offset=start, commands=True)
    stream = OutputStream(log.request, client._lend_where_some)
    lines = stream.lines = TypedLines(limit=terminal.size[0])
    for piece in stream:
        end = piece.end
        for shown in lines.feed(piece) if isinstance(piece, Chunk) else ():
            for part in cutter.feed(shown):
                terminal.write(replay.feed(part.data))
    return end - lines.held_bytes - cutter.held_bytes - replay.held_bytes
