"""The awaiting client: every call of the blocking one, many at a time.

Calls share a few connections, streams and commands have one each. A call that is cancelled costs nobody else an answer.
The start of a supervisor is the blocking one, in a thread: it ends in seconds, and is hard enough to get right once.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from orchctl.client import caller, ephemeral
from orchctl.client.aio import streams
from orchctl.client.aio.connection import AsyncConnection
from orchctl.client.aio.drive import Awaited, awaiting, awaiting_with
from orchctl.client.aio.line import Exchange, Line
from orchctl.client.aio.streams import (
    AsyncCommandStream,
    AsyncEventStream,
    AsyncOutputStream,
    AsyncSearchStream,
    AsyncSessionHandle,
    AsyncSeveralOutputs,
)
from orchctl.client.call import opening
from orchctl.client.caller import Question
from orchctl.client.calls import output as logs
from orchctl.client.calls import sessions
from orchctl.client.calls import wait as waits
from orchctl.client.connection import ConnectionLost
from orchctl.client.operations import Operations, auto, constructor
from orchctl.client.operations import ephemeral as ephemeral_plan
from orchctl.client.start import NotRunning, connect, reach
from orchctl.paths import prepare
from orchctl.protocol import codec
from orchctl.protocol.messages import Answer, Done, StopSupervisor

IDLE_LIMIT = 4  # connections kept for the next commands
LOCK_PAUSE_S = 0.02  # the kernel tells nobody that a lock is free
T = TypeVar("T")


def _usual() -> AsyncClient:
    return AsyncClient()


def _own() -> AsyncClient:
    return AsyncEphemeralClient()


class AsyncClient(Operations, Awaited):
    """A connection that comes back by itself. Use it as a context manager, or close it."""

    def __init__(
        self, *, state_dir: str | None = None, autostart: bool = True, say: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(state_dir=state_dir, autostart=autostart, say=say)
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

    session = awaiting_with(AsyncSessionHandle._of, sessions.session)
    spawn = awaiting_with(AsyncSessionHandle._of, sessions.spawn)
    run = opening(AsyncCommandStream._of, waits.run)
    output = opening(AsyncOutputStream._of, logs.output)
    outputs = awaiting_with(AsyncSeveralOutputs._of, logs.outputs)
    events = opening(AsyncEventStream._of, logs.events)
    search = awaiting_with(AsyncSearchStream._of, logs.search)

    auto = constructor(auto, _own, _usual)
    ephemeral = constructor(ephemeral_plan, _own, _usual)

    # the steps of calls

    async def _find(self) -> bool:
        if not self._lines:  # else, busy or not, one shows that there is a supervisor
            try:
                self._share(await self._greeted(connect(self.root)))
            except NotRunning:
                return False
            except ConnectionLost:
                pass  # it is just being replaced
        return True

    async def _exchange(self, question: Question) -> Sequence[Answer]:
        try:
            return await (self._answers(question) if question.descriptor is None else self._hand_over(question))
        except ConnectionLost:
            self._drop_idle()
            raise

    async def _answers(self, question: Question) -> Sequence[Answer]:
        try:
            with Exchange(await self._line()) as exchange:
                codec.require(exchange.hello, question.needs)
                number = exchange.begin(question.request)
                answers = [await exchange.answer_to(number)]
                while question.pages and getattr(answers[-1], "more", False):
                    answers.append(await exchange.answer_to(number))
                return answers
        finally:
            for line in [line for line in self._lines if line.idle][1:]:
                line.close()  # there were more calls than one line takes

    async def _hand_over(self, question: Question) -> Sequence[Answer]:
        """Ask with a descriptor, on a connection of its own."""
        connection = await self._lend()
        try:
            codec.require(connection.hello, question.needs)
            number = await connection.begin(question.request, question.descriptor)
            answer = await connection.answer_to(number)
        except BaseException:
            connection.close()
            raise
        self._take_back(connection)
        return [answer]

    async def _end(self, request: StopSupervisor, start: bool) -> None:
        connection = await self._reached(start=start)
        try:
            caller.expect(await connection.ask(request), Done)
            await connection.wait_for_end()
        except ConnectionLost:
            self._hang_up()
            raise
        finally:
            connection.close()
        self._drop_idle()
        await self._gone()

    async def _gone(self) -> None:
        """Until neither supervisor nor zygote lives: they hold the lifetime lock to the last."""
        fd = os.open(self.root.lifetime_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locks(fd):
                await asyncio.sleep(LOCK_PAUSE_S)
        finally:
            os.close(fd)

    async def _aside(self, job: Callable[[], T]) -> T:
        return await asyncio.to_thread(job)

    async def _work(self, action: str, asked: Mapping[str, Any]) -> Any:
        return await streams.answer(action, asked)

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
        connection = await self._reached(start=self._autostart)
        try:
            codec.check(connection.hello)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _reached(self, *, start: bool) -> AsyncConnection:
        return await self._greeted(await self._reach() if start else connect(self.root))

    async def _reach(self) -> socket.socket:
        """Started in a task of its own: who asked may be cancelled, and all who ask meanwhile wait for one start."""
        if self._closed:
            raise ephemeral.closed()
        prepare(self.root)
        try:
            return connect(self.root)
        except NotRunning:
            pass
        if self._starting is None or self._starting.done():
            self._starting = asyncio.ensure_future(asyncio.to_thread(lambda: reach(self.root).close()))
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._starting)
        return connect(self.root)

    async def _greeted(self, connected: socket.socket) -> AsyncConnection:
        connection = AsyncConnection(connected, self._open.discard)
        self._open.add(connection)
        try:
            if self._closed:
                raise ephemeral.closed()
            await connection.greet()
            self._say(f"supervisor {connection.hello.pid}, version {connection.hello.version}, at {self.root.socket}")
        except BaseException:
            connection.close()
            raise
        return connection

    _lend_where_some = awaiting(caller.lend_where_some)

    async def _lend(self) -> AsyncConnection:
        return self._idle.pop() if self._idle else await self._connect()

    def _take_back(self, link: AsyncConnection) -> None:
        if self._closed or len(self._idle) >= IDLE_LIMIT:
            link.close()
        else:
            self._idle.append(link)

    def _hang_up(self) -> None:
        for line in list(self._lines):
            line.close()
        self._idle.clear()
        for connection in list(self._open):
            connection.hang_up()

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


def _locks(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class AsyncEphemeralClient(AsyncClient):
    """A client that owns its supervisor. What is forked from its process may use it, but does not end it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        super().__init__(state_dir=ephemeral.make_home())

    async def close(self) -> None:
        if self._owner == os.getpid() and not self._closed:
            if self._starting is not None and not self._starting.done():
                await asyncio.wait([self._starting])  # somebody was cancelled while it started
            await self.stop_supervisor(kill=True)
            ephemeral.remove_home(self.root.path)
        await super().close()

    def _environment(self) -> dict[str, str]:
        return ephemeral.session_environment(self.root.path)

    def _bound(self, pid: int | None) -> int | None:
        return self._owner if pid is None else pid  # holds even when nobody is left to end the session
