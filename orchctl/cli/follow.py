"""Staying with a session to its end: its output, its exit code, and Ctrl-C on the way.

The first Ctrl-C goes to the session's program; when that ends by it, we end by the real SIGINT. A
second within two seconds leaves the program alone and ends us.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from orchctl.cli.app import end_by_signal
from orchctl.client.output import write_all
from orchctl.client.views import RawView, SafeView, TextView, View
from orchctl.errors import OrchctlError
from orchctl.model.session import EndReason, Session
from orchctl.model.stream import Chunk, Gap

if TYPE_CHECKING:
    from orchctl.client.client import Client
    from orchctl.client.output import OutputStream

SECOND_WITHIN_S = 2.0


def choose_view(*, raw: bool) -> View:
    """Raw if asked; else safe on a terminal, text into a pipe."""
    if raw:
        return RawView()
    return SafeView() if os.isatty(1) else TextView()


def show(stream: OutputStream, view: View) -> None:
    """Every piece as it comes, flushed at once."""
    for piece in stream:
        if isinstance(piece, Chunk):
            write_all(1, view.feed(piece.data))
        elif isinstance(piece, Gap):
            write_all(1, view.end())
            sys.stderr.write(f"orchctl: bytes {piece.first} to {piece.end - 1} are no longer kept\n")
    write_all(1, view.end())


class Follower:
    """Waits for one session, with Ctrl-C passed on."""

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session
        self._interrupted_at: float | None = None

    def run(self, *, visible: bool) -> Session:
        """The session when it is closed; its output on the way if `visible`."""
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            if visible:
                show(self._client.output(self._session, follow=True), choose_view(raw=False))
            return self._client.wait(self._session)
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupt(self, *_: object) -> None:
        now = time.monotonic()
        if self._interrupted_at is not None and now - self._interrupted_at < SECOND_WITHIN_S:
            os._exit(130)
        self._interrupted_at = now
        # its own connection, in a thread: ours is in the middle of an answer
        threading.Thread(target=self._pass_on, daemon=True).start()

    def _pass_on(self) -> None:
        from orchctl.client.client import Client

        try:
            with Client(state_dir=self._client.root.path, autostart=False) as client:
                client.interrupt(self._session)
        except OrchctlError as error:
            sys.stderr.write(f"orchctl: the interrupt did not get through: {error.message}\n")

    def exit_code(self, ended: Session) -> int:
        """The program's own, as a shell would say it; a lost session has none and is our trouble."""
        if self._interrupted_at is not None and ended.signal == signal.SIGINT:
            end_by_signal(signal.SIGINT)
        if ended.end_reason is EndReason.LOST or ended.exit_status is None:
            sys.stderr.write(f"orchctl: session {ended.id} is lost: nobody can tell how it ended\n")
            return 125
        return ended.exit_status
