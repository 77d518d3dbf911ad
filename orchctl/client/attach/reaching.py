"""Connections made aside, while whoever wants them goes on: it has a keyboard to listen to."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.errors import OrchctlError, SupervisorUnreachable


class Reaching:
    """So many connections; `fileno` is readable once they are there, or will never be."""

    def __init__(self, connect: Callable[[], Connection], count: int) -> None:
        self._connect = connect
        self._count = count
        self._made: list[Connection] = []
        self._failed: OrchctlError | None = None
        self._given_up = threading.Event()
        self._told, self._tell = os.pipe()
        threading.Thread(target=self._run, daemon=True).start()

    def fileno(self) -> int:
        """To wait for it."""
        return self._told

    def result(self) -> list[Connection]:
        """The connections; waits for them."""
        os.read(self._told, 1)
        os.close(self._told)
        if self._failed is not None or len(self._made) < self._count:
            raise self._failed or ConnectionLost("the supervisor cannot be reached")
        return self._made

    def close(self) -> None:
        """Nobody wants them any more; what comes yet is hung up by whoever makes it."""
        self._given_up.set()
        os.close(self._told)

    def _run(self) -> None:
        patience = Patience()
        try:
            while len(self._made) < self._count and not self._given_up.is_set():
                try:
                    self._made.append(self._connect())
                except ConnectionLost as error:
                    patience.spend(error)
        except OrchctlError as error:
            self._failed = error
        except OSError as error:  # no descriptor, no directory
            self._failed = SupervisorUnreachable(f"the supervisor cannot be reached: {error.strerror}")
        finally:
            if self._given_up.is_set() or self._failed is not None:
                for connection in self._made:
                    connection.close()
            os.close(self._tell)
