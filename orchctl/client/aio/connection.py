"""One conversation with the supervisor, for one caller at a time, which may be cancelled at every await.

It reads its socket itself: no task and no thread of ours is left when the caller goes. Whoever is cancelled closes the
connection, and with it the supervisor forgets what it was asked; no other call's answer can come on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence

from orchctl.client.connection import HELLO_S, ConnectionLost, answer_in, hello_in, numbered, our_hello
from orchctl.errors import PeerBroke, SupervisorUnreachable
from orchctl.protocol import codec, frames
from orchctl.protocol.messages import Answer, Request


class AsyncConnection:
    """A connected socket; it says hello in `greet`."""

    def __init__(self, connected: socket.socket, forget: Callable[[AsyncConnection], None]) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._forget = forget
        self._decoder = frames.Decoder()
        self._frames: list[frames.Frame] = []
        self._number = 0
        self._waiting = False
        self.expires_at: float | None = None  # whoever awaits has a timeout; this is for the blocking one

    def close(self) -> None:
        """Hang up; the supervisor forgets what it was asked."""
        self._socket.close()
        self._forget(self)

    def give_up(self) -> tuple[socket.socket, frames.Decoder, list[frames.Frame]]:
        """The socket and what was read of it, for somebody else to go on with."""
        if self._socket.fileno() < 0:  # somebody hung up just now
            raise ConnectionLost("the connection was closed")
        self._forget(self)
        return self._socket, self._decoder, self._frames

    def hang_up(self) -> None:
        """Close it, also under a task that waits for an answer: that one sees the end, and closes it."""
        if self._waiting:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        else:
            self.close()

    async def greet(self) -> None:
        """Both ends say who they are."""
        try:
            async with asyncio.timeout(HELLO_S):
                self.hello = await self._greet()
        except TimeoutError:
            raise SupervisorUnreachable(f"the supervisor said nothing for {HELLO_S:.0f} s") from None

    async def ask(self, request: Request) -> Answer:
        """The one answer to `request`."""
        return await self.answer_to(await self.begin(request))

    async def begin(self, request: Request, descriptor: int | None = None) -> int:
        """Send `request`, and a descriptor with it if it names one; its number."""
        self._number += 1
        await self._send(codec.encode_request(self._number, request), descriptor)
        return self._number

    async def answer_to(self, number: int) -> Answer:
        """The next message that answers request `number`."""
        item = await self.next(number)
        if isinstance(item, frames.Data):
            raise PeerBroke("output came where an answer was due", code="bad-stream")
        return item

    async def next(self, number: int) -> Answer | frames.Data:
        """The next message or output for request `number`; an error that came instead is raised."""
        while (item := answer_in(await self._frame(), number)) is None:
            pass
        return item

    async def receive(self) -> list[tuple[int, Answer | frames.Data]]:
        """What has come, with the numbers of the requests it belongs to; waits for something to come."""
        come = [await self._frame(), *self._frames]
        self._frames.clear()
        return [numbered(frame) for frame in come]

    @staticmethod
    async def ready(links: Sequence[AsyncConnection], timeout_s: float | None) -> list[AsyncConnection]:
        """Those on which something has come; waits for that."""
        come = [link for link in links if link._frames]
        if come:
            return come
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def heard(link: AsyncConnection) -> None:
            come.append(link)
            event.set()

        waits = {link.fileno(): link for link in links}
        for fd, link in waits.items():
            loop.add_reader(fd, heard, link)
            link._waiting = True
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            for fd, link in waits.items():
                link._waiting = False
                loop.remove_reader(fd)
        return list(dict.fromkeys(come))

    def fileno(self) -> int:
        return self._socket.fileno()

    async def wait_for_end(self) -> None:
        """Until the other end is gone."""
        with contextlib.suppress(SupervisorUnreachable):
            while True:
                await self._frame()

    async def _greet(self) -> codec.Hello:
        with contextlib.suppress(ConnectionLost):  # it may have said why before it hung up
            await self._send(our_hello())
        while (found := hello_in(await self._frame())) is None:
            pass
        return found

    async def _send(self, data: bytes, descriptor: int | None = None) -> None:
        left = memoryview(data)
        while left:
            try:
                if descriptor is not None:  # with the first byte, wherever the kernel cuts the rest
                    socket.send_fds(self._socket, [left[:1]], [descriptor], socket.MSG_NOSIGNAL)
                    left, descriptor = left[1:], None
                left = left[self._socket.send(left, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                await self._writable()
            except OSError as error:
                raise ConnectionLost(f"the supervisor is gone: {error.strerror}") from None

    async def _writable(self) -> None:
        loop, fd = asyncio.get_running_loop(), self._socket.fileno()
        event = asyncio.Event()
        loop.add_writer(fd, event.set)
        self._waiting = True
        try:
            await event.wait()
        finally:
            self._waiting = False
            loop.remove_writer(fd)

    async def _frame(self) -> frames.Frame:
        """The next one."""
        while not self._frames:
            self._waiting = True
            try:
                data = await asyncio.get_running_loop().sock_recv(self._socket, 1 << 18)
            except OSError as error:
                raise ConnectionLost(f"the supervisor is gone: {error.strerror}") from None
            finally:
                self._waiting = False
            if not data:
                raise ConnectionLost("the supervisor has closed the connection")
            self._frames += self._decoder.feed(data)
            await asyncio.sleep(0)  # a fast writer must not keep the loop to itself
        return self._frames.pop(0)
