"""A command in the foreground: Ctrl-C, the exit code it passes on, and the line it shows while it waits.

The first Ctrl-C is the program's, a second within two seconds is ours. A line of waiting is shown on a terminal alone,
and is gone when the command begins.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchctl.cli.output import Form
from orchctl.errors import BadInput, OrchctlError, PeerBroke
from orchctl.session.command import CommandWait
from orchctl.session.model import EndReason, Session

if TYPE_CHECKING:
    from orchctl.client.blocking import Client
    from orchctl.client.exec import CommandStream


SECOND_WITHIN_S = 2.0


class PassOn:
    """A context in which SIGINT goes to a session's program; a second one leaves it alone and ends us.

    `first` and `leave` do that where it is more than an interrupt of the session.
    """

    def __init__(
        self,
        client: Client,
        session: str,
        *,
        first: Callable[[Client], None] | None = None,
        leave: Callable[[Client], None] | None = None,
    ) -> None:
        self._state_dir = client.root.path
        self._first = first or (lambda other: other.interrupt(session))
        self._leave = leave
        self._ending = False
        self._last_at: float | None = None
        self._before: object = None

    @property
    def happened(self) -> bool:
        """Whether an interrupt was passed on."""
        return self._last_at is not None

    def __enter__(self) -> PassOn:
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def end(self) -> None:
        """End us by the real signal, from whatever thread."""
        self._ending = True
        os.kill(os.getpid(), signal.SIGINT)

    def _interrupt(self, *_: object) -> None:
        if self._ending:
            end_by_signal(signal.SIGINT)
        now = time.monotonic()
        if self._last_at is not None and now - self._last_at < SECOND_WITHIN_S:
            if self._leave is not None:
                self._do(self._leave)
            os._exit(130)
        self._last_at = now
        # on a connection of its own, in a thread: ours is in the middle of an answer
        threading.Thread(target=self._do, args=(self._first,), daemon=True).start()

    def _do(self, what: Callable[[Client], None]) -> None:
        from orchctl.client.blocking import Client

        try:
            with Client(state_dir=self._state_dir, autostart=False) as client:
                what(client)
        except OrchctlError as error:
            sys.stderr.write(f"orchctl: the interrupt did not get through: {error.message}\n")


class Leaving:
    """How a person leaves an exec: a command that has not begun is taken out of the queue, whoever runs before it."""

    def __init__(self, stream: CommandStream) -> None:
        self._stream = stream
        self.end: Callable[[], None] = lambda: None

    def interrupt(self, client: Client) -> None:
        """The first Ctrl-C: never an interrupt of another's command."""
        self._ask(client, detach=False)

    def leave(self, client: Client) -> None:
        """The second one."""
        self._ask(client, detach=True)

    def _ask(self, client: Client, *, detach: bool) -> None:
        begun, exec_id = self._stream.command, self._stream.exec_id
        session = self._stream.session if begun is None else begun.session  # @last may mean another one by now
        try:
            client.interrupt_command(session, exec_id, detach=detach)
        except PeerBroke as error:  # a supervisor of an older version: only we know whether the command has begun
            if error.code != "unknown-verb":
                raise
            if begun is None:
                self.end()
            elif detach:
                client.detach(session, exec_id)
            else:
                client.interrupt(session)


def end_by_signal(number: int) -> None:
    """End as the signal would end us, so that a calling shell sees the truth."""
    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def own_size() -> tuple[int, int]:
    """Of the terminal that a session is to be given; without one nothing is started."""
    if not (os.isatty(0) and os.isatty(1)):
        raise BadInput("stdin and stdout are not a terminal, which --attach needs", code="not-a-terminal")
    size = os.get_terminal_size(1)
    return size.columns or 80, size.lines or 24


def work_in(
    client: Client,
    session: str,
    form: Form,
    *,
    read_only: bool = False,
    take: bool = False,
    detach_keys: str | None = None,
) -> int:
    """Until it is left: the session's own exit code, 0 when it goes on."""
    left = client.attach(session, read_only=read_only, take=take, detach_keys=detach_keys)
    if left.signal is not None:
        end_by_signal(left.signal)
    if left.unsent_bytes:
        sys.stderr.write(f"orchctl: {left.unsent_bytes} bytes that were typed last did not arrive\n")
    if left.ended is not None:
        if not form.words:
            form.one(left.ended)
        return exit_code(left.ended)
    name = left.session.name or left.session.id
    form.one(
        left.session, lambda: sys.stderr.write(f"orchctl: detached from {name}; 'orchctl attach {name}' goes back\n")
    )
    return 0


TEXT_SHOWN, TEXT_LEAST = 60, 12  # characters of another's command
_ERASE = "\r\x1b[K"


class WaitingLine:
    """A context around reading a command's output."""

    def __init__(self, stream: CommandStream, *, quiet: bool) -> None:
        self._shown = False
        self._redraws = os.environ.get("TERM", "dumb") != "dumb"
        if not quiet:
            stream.on_wait, stream.on_begin = self._hear, self._erase

    def __enter__(self) -> WaitingLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._erase()

    def _hear(self, waits: CommandWait) -> None:
        if waits.what == "space" and waits.reason:  # the command has begun, and is not late by its own fault
            sys.stderr.write(f"orchctl: {waits.reason}; the command waits until its output can be stored\n")
            sys.stderr.flush()
        elif waits.what != "space" and os.isatty(2):
            self._show(waits)

    def _show(self, waits: CommandWait) -> None:
        if self._redraws:
            width = _columns() - 1  # a longer line would wrap, and only its end be erased
            sys.stderr.write(_ERASE + told(waits, width)[:width])
        elif not self._shown:
            sys.stderr.write(told(waits, _columns()) + "\n")
        sys.stderr.flush()
        self._shown = True

    def _erase(self) -> None:
        if self._shown and self._redraws:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
        self._shown = False


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def told(waits: CommandWait, width: int) -> str:
    """What a command waits for, in words; the text of another command is shortened first."""
    if waits.what != "command":
        return f"waiting for the {waits.what}" + (f" ({waits.reason})" if waits.reason else "")
    since = "not begun" if waits.running_s is None else f"running {waits.running_s:.0f} s"
    more = f" and {waits.ahead - 1} more" if waits.ahead > 1 else ""
    line = f"waiting for command {waits.number} ({{}}{since}){more}"
    return line.format(f"{_quoted(waits.text, width - len(line))}, " if waits.text else "")


def _quoted(text: str, width: int) -> str:
    """The first of a command's text, with what could steer a terminal made visible."""
    quoted = repr(text)
    limit = min(TEXT_SHOWN, max(TEXT_LEAST, width))
    return quoted if len(quoted) <= limit else f"{quoted[: limit - 2]}…{quoted[0]}"


def exit_code(ended: Session) -> int:
    """The program's own, as a shell would say it; a lost session has none and is our trouble."""
    if ended.end_reason in (EndReason.TIMEOUT, EndReason.IDLE_TIMEOUT):
        sys.stderr.write(f"orchctl: session {ended.id} was ended: {ended.end_reason}\n")
        return 124
    if ended.end_reason is EndReason.LOST or ended.exit_status is None:
        sys.stderr.write(f"orchctl: session {ended.id} is lost: nobody can tell how it ended\n")
        return 125
    return ended.exit_status
