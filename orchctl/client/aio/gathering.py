"""Many sessions at once, awaited: each has a task, and what they bring comes out of one iterator."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from orchctl.client.aio.streams import AsyncEventStream, AsyncOutputStream, AsyncStory
from orchctl.client.aio.waiting import AsyncWaits
from orchctl.errors import NoSuchSession, TimedOut
from orchctl.protocol import messages
from orchctl.session.model import Selection, Session
from orchctl.session.selection import chooses
from orchctl.session.stream import Chunk, Gap

HELD = 64  # pieces that wait for a slow reader, of all sessions together
Piece = Chunk | Gap | dict[str, Any] | None
Reader = AsyncOutputStream | AsyncStory
Found = tuple[Reader | None, Piece]


class AsyncSeveralOutputs:
    """Iterate for readers and what came for them; None as a piece is the end of that one, None as a reader silence."""

    def __init__(
        self,
        members: dict[str, Reader],
        *,
        join: Callable[[str], Awaitable[Reader | None]] | None = None,
        events: AsyncEventStream | None = None,
        quiet_s: float | None = None,
    ) -> None:
        self.readers = members
        self._join = join
        self._events = events
        self._quiet_s = quiet_s
        self._come: asyncio.Queue[Found | BaseException] = asyncio.Queue(HELD)
        self._tasks: list[asyncio.Task[None]] = []
        self._open = 0  # those whose end has not come out yet

    async def __aiter__(self) -> AsyncIterator[Found]:
        try:
            for reader in self.readers.values():
                self._begin(reader)
            if self._join is not None:
                self._tasks.append(asyncio.create_task(self._listen()))
            while self._open or (self._join is not None and not self.readers):
                reader_found, piece = await self._next()
                self._open -= int(reader_found is not None and piece is None)
                yield reader_found, piece
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, reader: Reader) -> None:
        self._open += 1
        self._tasks.append(asyncio.create_task(self._read(reader)))

    async def _next(self) -> Found:
        try:
            async with asyncio.timeout(self._quiet_s):
                found = await self._come.get()
        except TimeoutError:
            return None, None
        if isinstance(found, BaseException):
            raise found
        return found

    async def _read(self, reader: Reader) -> None:
        try:
            async for piece in reader:
                await self._come.put((reader, piece))
        except NoSuchSession:  # it was taken away meanwhile
            pass
        except Exception as error:  # noqa: BLE001 - whoever iterates gets it
            await self._come.put(error)
            return
        await self._come.put((reader, None))

    async def _listen(self) -> None:
        """Whoever joins is read from its first byte."""
        assert self._events is not None
        assert self._join is not None
        try:
            async for event in self._events:
                session = event.get("session")
                if session is not None and session not in self.readers:
                    reader = await self._join(session)
                    if reader is not None:
                        self.readers[session] = reader
                        self._begin(reader)
        except Exception as error:  # noqa: BLE001 - whoever iterates gets it
            await self._come.put(error)


class AsyncGathering(AsyncWaits):
    """A part of `AsyncClient`."""

    async def wait_each(self, sessions: Sequence[str], *, timeout_s: float | None = None) -> AsyncIterator[Session]:
        """Each of these sessions as it closes, in the order in which they do."""
        waiting = {asyncio.create_task(self.wait(session)) for session in dict.fromkeys(sessions)}
        loop = asyncio.get_running_loop()
        expires_at = None if timeout_s is None else loop.time() + timeout_s
        try:
            while waiting:
                left = None if expires_at is None else max(0.0, expires_at - loop.time())
                done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    raise TimedOut(f"{len(waiting)} sessions did not end in the time given")
                for task in done:
                    yield task.result()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def outputs(
        self,
        selection: Selection,
        *,
        offset: int | None = None,
        lines: int | None = None,
        since: float | None = None,
        until: float | None = None,
        until_offset: int | None = None,
        follow: bool = False,
        times: bool = False,
        ended_too: bool = True,
        quiet_s: float | None = None,
        stories: bool = False,
        commands: bool = False,
    ) -> AsyncSeveralOutputs:
        """The logs of several sessions as one iterator; with `follow`, new members of the selection join.

        With `quiet_s`, silence of that length is told too. With `stories`, conversations come as their events.
        """
        asked = messages.ReadOutput(
            session="",
            own_manager=self._own_manager,
            offset=offset,
            lines=lines,
            since_unix_s=since,
            until_unix_s=until,
            until_offset=until_offset,
            follow=follow,
            times=times,
            commands=commands,
        )

        def reader(session: Session, asked: messages.ReadOutput) -> Reader:
            if stories and session.agent is not None:
                return AsyncStory(session, asked, self._connect)
            return AsyncOutputStream(dataclasses.replace(asked, session=session.id), self._lend_where_some)

        async def join(session_id: str) -> Reader | None:
            (found,) = await self.select(Selection(sessions=(session_id,)), ended_too=True)
            anew = dataclasses.replace(asked, lines=None, offset=0, since_unix_s=None)
            return reader(found, anew) if chooses(selection, found) else None

        begun = time.time()
        joins = follow and selection.open
        members = await self.select(selection, ended_too=ended_too or bool(selection.sessions))
        readers = {session.id: reader(session, asked) for session in members}
        return AsyncSeveralOutputs(
            readers,
            join=join if joins else None,
            events=self.events(since=begun, types=("session.state",), follow=True) if joins else None,
            quiet_s=quiet_s,
        )
