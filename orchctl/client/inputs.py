"""What a client can ask about a session's input: type, end it, interrupt."""

from __future__ import annotations

import base64
import os
from abc import ABC, abstractmethod
from typing import TypeVar

from orchctl.protocol import messages

PART_BYTES = 1 << 18  # of input in one message
T = TypeVar("T", bound=messages.Answer)


class Inputs(ABC):
    """A part of `Client`."""

    _own_manager: str

    @abstractmethod
    def _ask(
        self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None, needs: str = ""
    ) -> T: ...

    def send(
        self,
        session: str,
        data: bytes,
        *,
        enter: bool = False,
        once: str | None = None,
        viewer: str = "",
        lease_wait_s: float = 0.0,
    ) -> None:
        """Type `data`, and Enter if asked; returns when the terminal has taken it. The same `once` is typed once.

        Where somebody holds the lease, it is refused unless `viewer` is its holder's secret, or the lease becomes
        free within `lease_wait_s`.
        """
        once = once or os.urandom(16).hex()
        for part in range(0, max(1, len(data)), PART_BYTES):
            asked = messages.SendInput(
                session=session,
                own_manager=self._own_manager,
                data_b64=base64.b64encode(data[part : part + PART_BYTES]).decode("ascii"),
                once=f"{once}/{part}",
                enter=enter and part + PART_BYTES >= len(data),
                viewer=viewer,
                lease_wait_s=lease_wait_s,
            )
            self._ask(asked, messages.Done)

    def send_eof(self, session: str, *, once: str | None = None, viewer: str = "", lease_wait_s: float = 0.0) -> None:
        """End the input of a session on pipes, after all that was sent before: its program reads the end of it."""
        asked = messages.SendInput(
            session=session,
            own_manager=self._own_manager,
            data_b64="",
            once=once or os.urandom(16).hex(),
            eof=True,
            viewer=viewer,
            lease_wait_s=lease_wait_s,
        )
        self._ask(asked, messages.Done, needs="stdin")

    def interrupt(self, session: str) -> None:
        """What Ctrl-C does in that terminal."""
        self._ask(messages.InterruptSession(session=session, own_manager=self._own_manager), messages.Done)
