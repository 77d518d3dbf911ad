"""A person at a session: keys go in, output comes out, until it is left or ends. One loop, which waits for nobody.

The supervisor may die and come back meanwhile. What was typed and not acknowledged is said again by its name, and the
output goes on at its byte, so that nothing is lost or comes twice.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

from orchctl.client.attach.terminal import KEYBOARD, OwnTerminal
from orchctl.client.attach.viewer import Reaching, Viewing
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.several import Reader
from orchctl.errors import NoSuchSession
from orchctl.lazy_dataclass import dataclass
from orchctl.protocol import codec
from orchctl.protocol.messages import Failed, ReadOutput
from orchctl.session.model import Session
from orchctl.session.stream import Chunk, Gap
from orchctl.shell.typed_lines import TypedLines
from orchctl.terminal import replay
from orchctl.terminal.keys import Keyboard, Meant, Typed
from orchctl.terminal.views import MarkView


class Signals:
    """Inside this context these signals do nothing but come out of `read`; the main thread alone may have it."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = numbers
        self._before: dict[int, Any] = {}
        self._told, self._tell = os.pipe()
        os.set_blocking(self._told, False)
        os.set_blocking(self._tell, False)
        self._wakeup_before = -1

    def __enter__(self) -> Signals:
        self._wakeup_before = signal.set_wakeup_fd(self._tell, warn_on_full_buffer=False)
        for number in self._numbers:
            self._before[number] = signal.signal(number, _noted)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._told)
        os.close(self._tell)

    def fileno(self) -> int:
        return self._told

    def read(self) -> set[int]:
        """Those that came."""
        try:
            return set(os.read(self._told, 1 << 10)) & set(self._numbers)
        except BlockingIOError:
            return set()


def _noted(number: int, frame: FrameType | None) -> None:
    """Nothing: its number is in the pipe."""


ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
LEAVE_S = 6.0  # what was typed last still arrives, or is refused: a program that does not read has five seconds
HURRY_S = 1.0
HELD_S = 0.25  # a shell that is there shows its line and runs it in a few milliseconds
WORRY_S = 3.0  # a killed supervisor is back sooner
_INTERRUPT = 0x03


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How a session was left: as it ended, or by a signal that ended us, or by neither: detached."""

    session: Session  # as it was when it was entered
    ended: Session | None = None
    signal: int | None = None
    unsent_bytes: int = 0  # of what was typed last


class Attachment:
    """From the byte at which the screen stands to the end."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        show: Callable[[OwnTerminal], int],
        viewing: Viewing,
        terminal: OwnTerminal,
        signals: Signals,
        keyboard: Keyboard,
    ) -> None:
        self._connect = connect
        self._show = show  # makes the terminal show what the session does now; gives the offset it stands for
        self._viewing = viewing
        self._terminal = terminal
        self._signals = signals
        self._keyboard = keyboard
        self._reaching: Reaching | None = None
        self._output: Connection | None = None
        self._release_at: float | None = None  # when output that may be a line of ours is shown all the same
        self._reader = self._reader_from(0)
        self._view = MarkView()
        self._leaving: Left | None = None
        self._leave_by = 0.0
        self._hold_until: float | None = None
        self._worry_at: float | None = None
        self._left: Left | None = None

    def run(self) -> Left:
        """Until it is over."""
        self._show_anew()
        try:
            while self._left is None:
                self._step()
        finally:
            self._hang_up()
        return self._left

    # the loop

    def _step(self) -> None:
        sources = [one for one in self._sources() if one is not None]
        writers = [self._terminal] if self._terminal.behind else []
        ready, room, _ = select.select(sources, writers, [], self._patience_s())
        if room:
            self._terminal.flush()
        if self._signals in ready:
            self._hear_signals()
        if KEYBOARD in ready:
            self._hear_keyboard()
        elif self._hold_until is not None and time.monotonic() >= self._hold_until:
            self._take(self._keyboard.give_back())
        try:
            if self._reaching is not None and self._reaching in ready:
                self._connected()
            if self._viewing.connection in ready:
                self._viewing.hear()
            if self._output is not None and self._output in ready:
                self._hear_output(self._output)
            self._viewing.go_on()
        except ConnectionLost:
            self._reach()
        self._see_about_lines()
        self._tell()
        self._see_about_leaving()

    def _sources(self) -> list[Signals | Reaching | Connection | int | None]:
        reads = self._leaving is None and not self._viewing.outbox.full
        shows = self._leaving is None and not self._terminal.far_behind
        return [
            self._signals,
            KEYBOARD if reads else None,
            self._reaching,
            self._viewing.connection,
            self._output if shows else None,
        ]

    def _patience_s(self) -> float | None:
        leave_by = self._leave_by if self._leaving is not None else None
        ends = [at for at in (self._hold_until, leave_by, self._worry_at, self._release_at) if at is not None]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    # connections

    def _show_anew(self) -> None:
        offset = self._show(self._terminal)
        self._reader, self._view = self._reader_from(offset), MarkView()
        self._viewing.answers_from = offset
        self._reach()

    def _reader_from(self, offset: int) -> Reader:
        session = self._viewing.session
        asked = ReadOutput(
            session=session.id, own_manager=self._viewing.own_manager, offset=offset, follow=True, commands=True
        )
        reader = Reader(session, asked)
        reader.lines = self._lines = TypedLines(limit=self._terminal.size[0])
        return reader

    def _reach(self) -> None:
        self._hang_up()
        self._reaching = Reaching(self._connect, 2)
        self._worry_at = time.monotonic() + WORRY_S

    def _connected(self) -> None:
        assert self._reaching is not None
        reaching, self._reaching, self._worry_at = self._reaching, None, None
        view, self._output = reaching.result()
        self._viewing.begin(view)
        self._output.begin(self._reader.request())

    def _hang_up(self) -> None:
        for one in (self._reaching, self._viewing.connection, self._output):
            if one is not None:
                one.close()
        self._reaching = self._output = None
        self._viewing.lose()

    # what comes

    def _hear_output(self, output: Connection) -> None:
        for number, item in output.receive():
            if isinstance(item, Failed):
                error = codec.error_of(item)
                if number and isinstance(error, NoSuchSession):  # it was taken away as soon as it had ended
                    error = NoSuchSession(f"the session is gone: {error.message}", code=error.code)
                raise error
            over, piece = self._reader.take(item)
            if isinstance(piece, Chunk):
                self._terminal.write(self._view.feed(self._reader.shown(piece)))
            elif isinstance(piece, Gap):
                self._terminal.write(self._view.feed(self._reader.rest()) + self._view.end())
                self._viewing.notices.append(f"bytes {piece.first} to {piece.end - 1} are no longer kept")
            if over:
                self._terminal.write(self._view.feed(self._reader.rest()) + self._view.end())
                self._leave(ended=self._reader.session)
                return

    def _see_about_lines(self) -> None:
        """What may be a line of ours is held back, but never so long that somebody waits for what they type."""
        now = time.monotonic()
        if not self._lines.held_bytes:
            self._release_at = None
        elif self._release_at is None:
            self._release_at = now + HELD_S
        elif now >= self._release_at:
            self._release_at = None
            parts = self._lines.release()
            self._terminal.write(self._view.feed(b"".join(part.data for part in parts)))

    def _hear_keyboard(self) -> None:
        data = self._terminal.read()
        if data:
            self._take(self._keyboard.feed(data))
        else:  # the terminal is gone, and with it whoever sat there
            self._leave(number=signal.SIGHUP)

    def _take(self, found: list[Typed | Meant]) -> None:
        for one in found:
            interrupts = isinstance(one, Typed) and _INTERRUPT in one.data
            if one is Meant.DETACH or (interrupts and self._viewing.read_only):
                self._leave()
                break
            if isinstance(one, Meant):
                self._viewing.take()
            elif not self._viewing.read_only:
                self._viewing.outbox.add(one)
        patience_s = self._keyboard.patience_s
        self._hold_until = None if patience_s is None else time.monotonic() + patience_s

    def _hear_signals(self) -> None:
        came = self._signals.read()
        for number in ENDING:
            if number in came:
                self._leave(number=number)
                return
        if signal.SIGTSTP in came:
            self._stop()
        elif signal.SIGCONT in came:  # somebody stopped us by force, and the terminal was somebody else's meanwhile
            self._come_back()
        if signal.SIGWINCH in came:
            self._viewing.size = self._terminal.size
            self._lines.limit = self._terminal.size[0]

    # leaving, and coming back

    def _stop(self) -> None:
        self._terminal.leave()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self._signals.read()
        self._come_back()

    def _come_back(self) -> None:
        self._terminal.enter()
        self._viewing.size = self._terminal.size
        self._show_anew()

    def _leave(self, *, ended: Session | None = None, number: int | None = None) -> None:
        if self._leaving is None or number is not None:
            limit_s = LEAVE_S if ended is None and number is None else HURRY_S
            self._leaving = Left(session=self._viewing.session, ended=ended, signal=number)
            self._leave_by = time.monotonic() + limit_s

    def _see_about_leaving(self) -> None:
        """What was typed arrives first, and what came at the end is shown."""
        if self._leaving is None:
            return
        ended = self._leaving.ended is not None
        late = time.monotonic() >= self._leave_by
        if ended and self._terminal.behind:
            self._leave_by = time.monotonic() + HURRY_S  # however slow it is: nothing but a signal hurries us
            return
        connected = self._viewing.connection is not None
        # until a supervisor is there that takes what was typed
        waits = self._reaching is not None and not self._viewing.outbox.empty
        if ended or late or (self._viewing.let_go() if connected else not waits):
            unsent = 0 if ended else self._viewing.outbox.unsent_bytes
            self._left = replace(self._leaving, unsent_bytes=unsent)

    def _tell(self) -> None:
        """Notices, where they do not cut a sequence in two."""
        if self._worry_at is not None and time.monotonic() >= self._worry_at:
            self._worry_at = None
            self._viewing.notices.append("no supervisor answers; the session goes on, what you type is kept")
        while self._viewing.notices and self._terminal.modes.at_rest and self._leaving is None:
            self._terminal.insert(replay.notice(self._viewing.notices.pop(0), self._terminal.size[0]))
