"""Ctrl-C while we stay with a program: the first is the program's, a second within two seconds is ours."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchctl.errors import OrchctlError

if TYPE_CHECKING:
    from orchctl.client.client import Client

SECOND_WITHIN_S = 2.0


class PassOn:
    """A context in which SIGINT goes to a session's program; a second one leaves it alone and ends us."""

    def __init__(self, client: Client, session: str, leave: Callable[[Client], None] | None = None) -> None:
        self._state_dir = client.root.path
        self._session = session
        self._leave = leave
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

    def _interrupt(self, *_: object) -> None:
        now = time.monotonic()
        if self._last_at is not None and now - self._last_at < SECOND_WITHIN_S:
            if self._leave is not None:
                self._do(self._leave)
            os._exit(130)
        self._last_at = now
        # on a connection of its own, in a thread: ours is in the middle of an answer
        threading.Thread(target=self._do, args=(lambda client: client.interrupt(self._session),), daemon=True).start()

    def _do(self, what: Callable[[Client], None]) -> None:
        from orchctl.client.client import Client

        try:
            with Client(state_dir=self._state_dir, autostart=False) as client:
                what(client)
        except OrchctlError as error:
            sys.stderr.write(f"orchctl: the interrupt did not get through: {error.message}\n")


def end_by_signal(number: int) -> None:
    """End as the signal would end us, so that a calling shell sees the truth."""
    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
