"""Ctrl-C while we stay with a program: the first is the program's, a second within two seconds is ours."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchctl.errors import OrchctlError, PeerBroke

if TYPE_CHECKING:
    from orchctl.client.client import Client
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
        from orchctl.client.client import Client

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
