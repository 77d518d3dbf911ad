"""Output, commands and events as asynchronous iterators: cursors that survive the supervisor.

A stream ends its connection when its iteration ends, is cancelled, or is left; `close` does so at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from orchctl.client.aio.connection import AsyncConnection
from orchctl.client.aio.patience import AsyncPatience
from orchctl.client.connection import ConnectionLost
from orchctl.client.events import EventReading
from orchctl.client.exec import Collection, CommandReading, Options
from orchctl.client.output import OutputReading, PatternSearch
from orchctl.client.story import Ending, asked_of
from orchctl.errors import BadInput, PeerBroke, TimedOut
from orchctl.protocol.frames import Data
from orchctl.protocol.messages import Answer, ReadEvents, ReadOutput
from orchctl.session.command import Result
from orchctl.session.model import Session
from orchctl.session.search import Screen
from orchctl.session.stream import Chunk, Gap
from orchctl.shell.typed_lines import TypedLines

Connect = Callable[[], Awaitable[AsyncConnection]]
T = TypeVar("T")


class _Iteration(Generic[T]):
    """What all streams share: a connection while somebody iterates, and another when that is lost."""

    _over: bool

    def __init__(self, *, timeout_s: float | None = None) -> None:
        self._timeout_s = timeout_s
        self._connection: AsyncConnection | None = None
        self._number = 0
        self._patience = AsyncPatience()
        self._closed = False
        self._opened: list[AsyncConnection] = []  # before the iteration, which takes it over

    def close(self) -> None:
        """Stop, also for a task that waits for the next piece."""
        self._closed = True
        if self._connection is not None:
            self._connection.hang_up()

    async def __aiter__(self) -> AsyncIterator[T]:
        self._over = False
        self._patience = AsyncPatience()
        expires_at = None if self._timeout_s is None else asyncio.get_running_loop().time() + self._timeout_s
        held, self._opened = self._opened, []  # this iteration's own: an earlier one may be finished only later
        try:
            while not self._over and not self._closed:
                async with asyncio.timeout_at(expires_at):
                    item = await self._item(held)
                for piece in self._pieces(item) if item is not None else ():
                    self._patience = AsyncPatience()
                    yield piece
                await self._taken(held)
            for piece in self._held_back():
                yield piece
        except TimeoutError:
            raise TimedOut("it did not happen in the time given") from None
        finally:
            for connection in held:
                self._let_go(connection)

    async def _item(self, held: list[AsyncConnection]) -> Answer | Data | None:
        """The next word, from whichever supervisor; None when the stream was closed meanwhile."""
        while not self._closed:
            try:
                if not held:
                    held.append(await self._connect())
                    self._connection = held[0]
                    self._number = await self._begin_on(held[0])
                return await held[0].next(self._number)
            except ConnectionLost as error:
                for connection in held:
                    connection.close()
                held.clear()
                if not self._closed:
                    await self._patience.spend(error)
        return None

    async def _taken(self, held: list[AsyncConnection]) -> None:
        """What came last is no longer our concern."""

    def _let_go(self, connection: AsyncConnection) -> None:
        connection.close()

    def _held_back(self) -> Iterator[T]:
        return iter(())

    async def _connect(self) -> AsyncConnection:
        raise NotImplementedError

    async def _begin_on(self, connection: AsyncConnection) -> int:
        raise NotImplementedError

    def _pieces(self, item: Answer | Data) -> Iterator[T]:
        raise NotImplementedError


class AsyncOutputStream(OutputReading, _Iteration[Chunk | Gap]):
    """Iterate for chunks and gaps, each byte once and in order; `session` is as of the newest word."""

    def __init__(
        self, asked: ReadOutput, connect: Connect, *, timeout_s: float | None = None, only: int | None = None
    ) -> None:
        OutputReading.__init__(self, asked, only=only)
        _Iteration.__init__(self, timeout_s=timeout_s)
        self._connector = connect

    async def _connect(self) -> AsyncConnection:
        return await self._connector()

    async def screen(self) -> Screen:
        """What the terminal shows where the stream begins, if a snapshot was asked for; iterate for what follows."""
        if not self._asked.snapshot:
            raise BadInput("the stream was not asked for with a snapshot")
        self._patience = AsyncPatience()
        try:
            async with asyncio.timeout(self._timeout_s):
                while self._screen is None and (item := await self._item(self._opened)) is not None:
                    self._hear(item)
        except TimeoutError:
            raise TimedOut("it did not happen in the time given") from None
        finally:
            if self._screen is None:
                for connection in self._opened:
                    connection.close()
                self._opened = []
        if self._screen is None:
            raise ConnectionLost("the stream was closed")
        return self._screen

    async def _begin_on(self, connection: AsyncConnection) -> int:
        self._check(connection.hello.features)
        return await connection.begin(self._request())

    def _pieces(self, item: Answer | Data) -> Iterator[Chunk | Gap]:
        piece = self._hear(item)
        if piece is not None:
            yield piece

    async def _taken(self, held: list[AsyncConnection]) -> None:
        acked = self._ack(self._number)
        if acked is not None and held:
            with contextlib.suppress(ConnectionLost):  # reading on finds that out too, and sees to it
                await held[0].begin(acked)


class AsyncEventStream(EventReading, _Iteration[dict[str, Any]]):
    """Iterate for events, each once and in order."""

    def __init__(self, asked: ReadEvents, connect: Connect) -> None:
        EventReading.__init__(self, asked)
        _Iteration.__init__(self)
        self._connector = connect

    async def _connect(self) -> AsyncConnection:
        return await self._connector()

    async def _begin_on(self, connection: AsyncConnection) -> int:
        return await connection.begin(self._asked)

    def _pieces(self, item: Answer | Data) -> Iterator[dict[str, Any]]:
        if isinstance(item, Data):
            raise PeerBroke("output came in the middle of events", code="bad-stream")
        return self._hear(item)


class AsyncStory(AsyncEventStream):
    """The same of one conversation, from a place in its output to where a reader wants to stop, or it closes."""

    def __init__(self, session: Session, asked: ReadOutput, connect: Connect) -> None:
        super().__init__(asked_of(session, asked), connect)
        self.session = session
        self._ending = Ending(asked)

    def _pieces(self, item: Answer | Data) -> Iterator[dict[str, Any]]:
        yield from filter(self._ending.passes, super()._pieces(item))
        self._over = self._over or self._ending.reached


class AsyncCommandStream(CommandReading, _Iteration[tuple[int, bytes]]):
    """Iterate for (channel, bytes): 0 the terminal, 1 stdout, 2 stderr; then look at `command`.

    Whoever leaves it before its end takes the command along, unless that was detached.
    """

    def __init__(
        self,
        session: str,
        command: str | Sequence[str],
        options: Options,
        own_manager: str,
        borrow: Connect,
        give_back: Callable[[AsyncConnection], None],
    ) -> None:
        CommandReading.__init__(self, session, command, options, own_manager)
        _Iteration.__init__(self)
        self._borrow = borrow
        self._give_back = give_back

    async def _connect(self) -> AsyncConnection:
        return await self._borrow()

    async def _begin_on(self, connection: AsyncConnection) -> int:
        for part in self._spools:
            await connection.ask(part)
        return await connection.begin(self._ask_again())

    def _pieces(self, item: Answer | Data) -> Iterator[tuple[int, bytes]]:
        if piece := self._hear(item):
            yield piece

    def _held_back(self) -> Iterator[tuple[int, bytes]]:
        return self._rest()

    def _let_go(self, connection: AsyncConnection) -> None:
        if self._over:
            self._give_back(connection)
        else:  # something of it may still come
            connection.close()


async def search(stream: AsyncOutputStream, pattern: str) -> re.Match[bytes]:
    """The first match in the text of a stream."""
    wanted = PatternSearch(pattern)
    stream.lines = TypedLines(silent=True)
    async for piece in stream:
        if isinstance(piece, Chunk) and (found := wanted.feed(stream.shown(piece))):
            stream.close()
            return found
    return wanted.end()


async def collect(stream: AsyncCommandStream, *, limit_bytes: int | None = None) -> Result:
    """The whole result."""
    collection = Collection(limit_bytes)
    async for channel, data in stream:
        collection.add(channel, data)
    return collection.result(stream)
