"""How an asynchronous client asks: calls share a few connections, streams and commands have one each.

A call that is cancelled costs nobody else an answer. Written by hand, like `line.py`, `connection.py`, `start.py` and
`streams.py`; all that a client can ask for is made from the blocking one.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from orchctl.client import degraded, start
from orchctl.client.aio import start as aio_start
from orchctl.client.aio.connection import AsyncConnection
from orchctl.client.aio.line import Exchange, Line
from orchctl.client.aio.patience import AsyncPatience
from orchctl.client.client import P, R, T
from orchctl.client.connection import ConnectionLost
from orchctl.client.ephemeral import closed
from orchctl.client.supervising import expect
from orchctl.errors import NoSuchSession, SupervisorUnreachable, TimedOut
from orchctl.paths import Root, find_root, prepare
from orchctl.protocol import codec, messages
from orchctl.session import manager
from orchctl.session.model import SupervisorStatus

IDLE_LIMIT = 4  # connections kept for the next commands


class AsyncAsking:
    """A part of `AsyncClient`."""

    def __init__(
        self, *, state_dir: str | None = None, autostart: bool = True, say: Callable[[str], None] | None = None
    ) -> None:
        self._say = say or (lambda _: None)  # told what is being done, for whoever wants to see it
        self.root = Root(os.path.abspath(state_dir)) if state_dir else find_root(os.environ)
        self._autostart = autostart
        self._own_manager = manager.resolve(None, os.environ.get("ORCHCTL_MANAGER"))
        self._lines: list[Line] = []
        self._opening = asyncio.Lock()
        self._idle: list[AsyncConnection] = []
        self._open: set[AsyncConnection] = set()
        self._starting: asyncio.Future[None] | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up, also under calls and streams that other tasks wait for. Sessions go on."""
        self._closed = True
        self._hang_up()
        if self._starting is not None and not self._starting.done():
            await asyncio.wait([self._starting])

    # the supervisor

    async def _status(self) -> SupervisorStatus:
        if not await self._found():
            return start.not_running(self.root)
        return (await self._ask(messages.GetStatus(), messages.Status)).status

    async def _stop(self, asked: messages.StopSupervisor) -> bool:
        try:
            connection = await self._greeted(start.connect(self.root))
        except start.NotRunning:
            if not asked.kill or self._no_sessions():
                return False
            connection = await self._connect()  # there are sessions to end, left by an earlier one
        except SupervisorUnreachable as error:
            if error.code != "degraded":
                raise
            return await asyncio.to_thread(degraded.stop, self.root, asked)
        try:
            expect(await connection.ask(asked), messages.Done)
            await connection.wait_for_end()
        finally:
            connection.close()
        self._drop_idle()
        await aio_start.wait_until_gone(self.root)
        return True

    # how it is done

    async def _nothing_there(self) -> bool:
        """Whether no supervisor runs and none is needed: commands that only read or end things start none."""
        return not await self._found() and self._no_sessions()

    def _no_sessions(self) -> bool:
        try:
            return not os.listdir(self.root.sessions)
        except FileNotFoundError:
            return True

    async def _found(self) -> bool:
        """Whether there is a supervisor; the connection that shows it is kept for the next calls."""
        if self._lines:  # busy or not, it shows that there is one
            return True
        try:
            self._share(await self._greeted(start.connect(self.root)))
        except start.NotRunning:
            return False
        except ConnectionLost:
            pass  # it is just being replaced
        return True

    async def _line(self) -> Line:
        """One with room for another call; it is taken by whoever begins one before it awaits anything."""
        if line := self._usable():
            return line
        async with self._opening:  # many who ask at once do not each make one
            return self._usable() or self._share(await self._connect())

    def _usable(self) -> Line | None:
        return next((line for line in self._lines if line.usable), None)

    def _share(self, connection: AsyncConnection) -> Line:
        line = Line(connection, self._lines.remove)
        self._lines.append(line)
        return line

    async def _connect(self) -> AsyncConnection:
        connection = await self._greeted(await self._reach() if self._autostart else start.connect(self.root))
        try:
            codec.check(connection.hello)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _reach(self) -> socket.socket:
        """Started in a task of its own: who asked may be cancelled, and all who ask meanwhile wait for one start."""
        if self._closed:
            raise closed()
        prepare(self.root)
        try:
            return start.connect(self.root)
        except start.NotRunning:
            pass
        if self._starting is None or self._starting.done():
            self._starting = asyncio.ensure_future(aio_start.ensure(self.root))
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._starting)
        return start.connect(self.root)

    async def _greeted(self, connected: socket.socket) -> AsyncConnection:
        connection = AsyncConnection(connected, self._open.discard)
        self._open.add(connection)
        try:
            if self._closed:
                raise closed()
            await connection.greet()
            self._say(f"supervisor {connection.hello.pid}, version {connection.hello.version}, at {self.root.socket}")
        except BaseException:
            connection.close()
            raise
        return connection

    async def _lend(self) -> AsyncConnection:
        """A connection for one alone."""
        return self._idle.pop() if self._idle else await self._connect()

    def _take_back(self, connection: AsyncConnection) -> None:
        """One on which nothing more comes."""
        if self._closed or len(self._idle) >= IDLE_LIMIT:
            connection.close()
        else:
            self._idle.append(connection)

    def _hang_up(self) -> None:
        for line in list(self._lines):
            line.close()
        self._idle.clear()
        for connection in list(self._open):
            connection.hang_up()

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _expect_some(self, *sessions: str) -> None:
        """Where there is no session none is found, and no supervisor is started to say so."""
        if sessions and await self._nothing_there():
            raise NoSuchSession(f"no session {sessions[0]!r}; there is none at all")

    async def _ask(
        self,
        request: messages.Request,
        kind: type[T],
        *,
        timeout_s: float | None = None,
        needs: str = "",
        descriptor: int | None = None,
    ) -> T:
        if descriptor is not None:
            return await self._hand_over(request, kind, descriptor, needs)
        named = getattr(request, "session", None)
        await self._expect_some(*((named,) if named else getattr(request, "sessions", ())))

        async def job(exchange: Exchange) -> T:
            codec.require(exchange.hello, needs)
            return expect(await exchange.ask(request), kind)

        return await self._persist(job, timeout_s=timeout_s)

    async def _hand_over(self, request: messages.Request, kind: type[T], descriptor: int, needs: str) -> T:
        """Ask with a descriptor, which goes along again when the request is said again; on a connection of its own."""
        patience = AsyncPatience()
        while True:
            connection = await self._lend()
            try:
                codec.require(connection.hello, needs)
                answer = expect(await connection.answer_to(await connection.begin(request, descriptor)), kind)
            except ConnectionLost as error:
                connection.close()
                self._say(f"{error.message}; asking again")
                self._drop_idle()
                await patience.spend(error)
            except BaseException:
                connection.close()
                raise
            else:
                self._take_back(connection)
                return answer

    async def _pages(self, request: messages.Request, kind: type[P]) -> Sequence[P]:
        """An answer that comes in parts."""

        async def job(exchange: Exchange) -> Sequence[P]:
            number, found = exchange.begin(request), list[P]()
            while not found or found[-1].more:
                found.append(expect(await exchange.answer_to(number), kind))
            return found

        return await self._persist(job)

    async def _persist(self, job: Callable[[Exchange], Awaitable[R]], *, timeout_s: float | None = None) -> R:
        """Do `job`, again after a lost connection, for up to half a minute."""
        patience = AsyncPatience()
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        return await self._once(job)
                    except ConnectionLost as error:
                        self._say(f"{error.message}; asking again")
                        self._drop_idle()
                        await patience.spend(error)
        except TimeoutError:
            raise TimedOut("it did not happen in the time given") from None

    async def _once(self, job: Callable[[Exchange], Awaitable[R]]) -> R:
        try:
            with Exchange(await self._line()) as exchange:
                return await job(exchange)
        finally:
            for line in [line for line in self._lines if line.idle][1:]:
                line.close()  # there were more calls than one line takes
