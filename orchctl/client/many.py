"""Many requests under way at once, over as few connections as the supervisor allows for it. Blocking, no threads.

A connection that is lost is made again, and what was under way on it is asked again; a request is made
anew each time, so that one that reads goes on where it stood.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import field

from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.errors import OrchctlError
from orchctl.lazy_dataclass import dataclass
from orchctl.protocol import codec
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Answer, Failed, Request

ON_ONE_CONNECTION = 48  # the supervisor takes 64 at once from each
Item = Answer | Data | OrchctlError


@dataclass(slots=True)
class _Line:
    """One connection, and which request has which number on it."""

    connection: Connection
    keys: dict[int, str] = field(default_factory=dict)


class Many:
    """Requests by key; `next` gives whatever comes for any of them."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._lines: list[_Line] = []
        self._asked: dict[str, Callable[[], Request]] = {}
        self._come: deque[tuple[str, Item]] = deque()
        self._patience = Patience()

    def __len__(self) -> int:
        return len(self._asked)

    def __contains__(self, key: str) -> bool:
        return key in self._asked

    def begin(self, key: str, request: Callable[[], Request]) -> None:
        """Ask; `request` is called again if the connection is lost."""
        self._asked[key] = request
        self._say(key)

    @property
    def has_come(self) -> bool:
        """Whether `next` gives something without waiting."""
        return bool(self._come)

    def filenos(self) -> list[int]:
        """What to wait on together with something else, when nothing has come."""
        return [line.connection.fileno() for line in self._lines]

    def done(self, key: str) -> None:
        """Nothing more is wanted for this one."""
        self._asked.pop(key, None)
        self._forget(key)
        for line in self._lines:
            line.keys = {number: one for number, one in line.keys.items() if one != key}

    def next(self, timeout_s: float | None = None) -> tuple[str, Item] | None:
        """The next thing that came, and for whom; None when nothing did in that time."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._come:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return None
            for connection in select.select([line.connection for line in self._lines], [], [], left)[0]:
                self._hear(next(line for line in self._lines if line.connection is connection))
        return self._come.popleft()

    def close(self) -> None:
        """Hang up."""
        for line in self._lines:
            line.connection.close()
        self._lines, self._asked = [], {}
        self._come.clear()

    def _say(self, key: str) -> None:
        """On a connection that has room; until one takes it."""
        while True:
            try:
                line = next((line for line in self._lines if len(line.keys) < ON_ONE_CONNECTION), None)
                if line is None:
                    line = _Line(self._connect())
                    self._lines.append(line)
            except ConnectionLost as error:
                self._patience.spend(error)
                continue
            try:
                line.keys[line.connection.begin(self._asked[key]())] = key
                return
            except ConnectionLost:
                self._lose(line)

    def _hear(self, line: _Line) -> None:
        try:
            items = line.connection.receive()
        except ConnectionLost as error:
            self._patience.spend(error)
            self._lose(line)
            return
        self._patience = Patience()
        for number, item in items:
            if isinstance(item, Failed) and number == 0:
                raise codec.error_of(item)
            key = line.keys.get(number)
            if key in self._asked:
                self._come.append((key, codec.error_of(item) if isinstance(item, Failed) else item))

    def _lose(self, line: _Line) -> None:
        self._lines.remove(line)
        line.connection.close()
        for key in line.keys.values():
            if key in self._asked:
                self._forget(key)  # it will come again
                self._say(key)

    def _forget(self, key: str) -> None:
        self._come = deque((one, item) for one, item in self._come if one != key)
