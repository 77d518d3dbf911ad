"""A connection that many calls share: each has its number and its own answers, however they are mixed.

Nobody waits on the socket: the loop says when something came, and it goes to whom it is for. A call that is cancelled
takes nothing from the others; the line then takes no new calls, and ends with its last one, so that the supervisor
forgets what nobody waits for any more.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from orchctl.client.aio.connection import AsyncConnection
from orchctl.client.connection import ConnectionLost
from orchctl.errors import OrchctlError, PeerBroke
from orchctl.protocol import codec
from orchctl.protocol import frames as framing
from orchctl.protocol.messages import Answer, Failed, Request

CALLS = 48  # the supervisor takes up to 64 of one connection at once, and then lets the rest wait


class Line:
    """A connection that has said hello and belongs to a loop now."""

    def __init__(self, connection: AsyncConnection, forget: Callable[[Line], None]) -> None:
        self._socket, self._decoder, frames = connection.give_up()
        self.hello = connection.hello
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._readable)
        self._unsent = bytearray()
        self._calls: dict[int, asyncio.Queue[Answer | OrchctlError]] = {}
        self._number = 0
        self._open = True
        self._retired = False
        for frame in frames:
            self._dispatch(frame)

    @property
    def usable(self) -> bool:
        """Whether another call may begin here, in this loop."""
        free = self._open and not self._retired and len(self._calls) < CALLS
        return free and self._loop is asyncio.get_running_loop()

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._calls

    def close(self, error: OrchctlError | None = None) -> None:
        """Hang up; whoever waits gets `error`."""
        if self._open:
            self._open = False
            if not self._loop.is_closed():
                self._loop.remove_reader(self._socket)
                self._loop.remove_writer(self._socket)
            self._socket.close()
            self._forget(self)
        error = error or ConnectionLost("the connection was closed")
        for mailbox in self._calls.values():
            mailbox.put_nowait(type(error)(error.message, code=error.code))

    def begin(self, request: Request) -> int:
        """Send `request`, or as much of it as fits just now; its number."""
        data = codec.encode_request(self._number + 1, request)
        self._number += 1
        self._calls[self._number] = asyncio.Queue()
        self._unsent += data
        self._flush()
        return self._number

    async def answer_to(self, number: int) -> Answer:
        """The next answer to request `number`; an error that came instead is raised."""
        item = await self._calls[number].get()
        if isinstance(item, OrchctlError):
            raise item
        return item

    def end(self, number: int, *, answered: bool) -> None:
        """Nobody waits for `number` any more."""
        self._calls.pop(number, None)
        self._retired = self._retired or not answered
        if self._retired and not self._calls:
            self.close()

    def _flush(self) -> None:
        try:
            while self._unsent and self._open:
                del self._unsent[: self._socket.send(self._unsent, socket.MSG_NOSIGNAL)]
        except BlockingIOError:
            self._loop.add_writer(self._socket, self._flush)
            return
        except OSError as error:
            self.close(ConnectionLost(f"the supervisor is gone: {error.strerror}"))
        if self._open:
            self._loop.remove_writer(self._socket)

    def _readable(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError as error:
            self.close(ConnectionLost(f"the supervisor is gone: {error.strerror}"))
            return
        if not data:
            self.close(ConnectionLost("the supervisor has closed the connection"))
            return
        try:
            for frame in self._decoder.feed(data):
                self._dispatch(frame)
        except PeerBroke as error:
            self.close(error)

    def _dispatch(self, frame: framing.Frame) -> None:
        if isinstance(frame, framing.Data):
            raise PeerBroke("output came where an answer was due", code="bad-stream")
        number, message = codec.decode(frame)
        if isinstance(message, Failed) and number == 0:  # it is about the connection
            self.close(codec.error_of(message))
        elif number in self._calls:
            told = codec.error_of(message) if isinstance(message, Failed) else message
            self._calls[number].put_nowait(told)  # type: ignore[arg-type]


class Exchange:
    """One call's part of a line."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.hello = line.hello
        self._numbers: list[int] = []

    async def ask(self, request: Request) -> Answer:
        """The one answer to `request`."""
        return await self.answer_to(self.begin(request))

    def begin(self, request: Request) -> int:
        """Send `request`; its number."""
        self._numbers.append(self._line.begin(request))
        return self._numbers[-1]

    async def answer_to(self, number: int) -> Answer:
        """The next answer to request `number`."""
        return await self._line.answer_to(number)

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Whoever got an answer, or an error as one, owes nothing."""
        for number in self._numbers:
            self._line.end(number, answered=error is None or isinstance(error, OrchctlError))
