"""Output: a cursor into the log. Looking back, following live and catching up are the same loop."""

from __future__ import annotations

import asyncio
import time

from orchctl.errors import BadInput, Conflict
from orchctl.protocol import messages
from orchctl.store.output import OutputLog
from orchctl.supervisor.ancestry import descends_from
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.sending import send_range
from orchctl.supervisor.session import SupervisedSession
from orchctl.supervisor.waiting import last_input

TIMED_BYTES = 1 << 20  # of output between two looks at when it came


async def read(app: Supervisor, call: Call, asked: messages.ReadOutput) -> None:
    """Send what was asked for; with `follow`, until the session is closed."""
    session = app.registry.find(asked.session, asked.own_manager)
    if asked.follow and session.run.pid is not None and descends_from(call.peer, session.run.pid):
        raise Conflict("a program cannot follow the session it runs in", code="own-session")
    if asked.raw and session.talk is not None:
        session, log = app.registry.lives.raw(session.talk)
    else:
        log = session.open_log()
    try:
        end = log.end
        offset = await _start(session, asked, log, end)
        await call.say(messages.StreamBegins(session=session.view(), offset=offset))
        reading = _Reading(call, session, log, asked)
        offset = await (reading.follow(offset) if asked.follow else reading.send(offset, reading.stop_before(end)))
        await call.say(messages.StreamEnds(session=session.view(), offset=offset))
    finally:
        session.readers.gone(call)
        log.close()


async def _start(session: SupervisedSession, asked: messages.ReadOutput, log: OutputLog, end: int) -> int:
    if asked.offset is not None:
        if not 0 <= asked.offset <= end:
            raise BadInput(f"offset {asked.offset} is not in the log, which ends at {end}", code="bad-offset")
        return asked.offset
    if asked.lines is not None:
        before = end if asked.until_unix_s is None else session.timeline().offset_at(asked.until_unix_s, end)
        return log.start_of_last_lines(max(0, asked.lines), min(before, asked.until_offset or before))
    if asked.since_unix_s is not None:
        return session.timeline().offset_at(asked.since_unix_s, end)
    if asked.since_input or asked.since_own_input:
        return min(end, await last_input(session, asked.own_manager if asked.since_own_input else None))
    return 0


class _Reading:
    """One reader's way through the log."""

    def __init__(self, call: Call, session: SupervisedSession, log: OutputLog, asked: messages.ReadOutput) -> None:
        self._call = call
        self._session = session
        self._log = log
        self._asked = asked

    def stop_before(self, end: int) -> int:
        """Where the reader wants to stop, if that is before `end`."""
        if self._asked.until_offset is not None:
            end = min(end, self._asked.until_offset)
        if self._asked.until_unix_s is not None:
            end = min(end, self._session.timeline().offset_at(self._asked.until_unix_s, end))
        return end

    async def follow(self, offset: int) -> int:
        """Until the session is closed, or the reader has what it wants."""
        while True:
            ticket, closed = self._session.news.ticket, self._session.closed
            before, end = offset, self._log.end
            stop = self.stop_before(end)
            offset = await self.send(offset, stop)
            if stop < end or offset == self._asked.until_offset or self._too_late():
                return offset
            if offset > before:
                continue
            if closed:  # seen before the log was found to end here: its last byte has been sent
                return offset
            self._session.readers.at(self._call, offset)
            self._session.pair.watch(offset)
            await self._wait(ticket)

    async def send(self, offset: int, end: int) -> int:
        """What is there now, with the times at which it came if they are wanted."""
        if not self._asked.times:
            return await send_range(self._call, self._session, self._log, offset, end)
        while offset < end:
            part_end = min(end, offset + TIMED_BYTES)
            for moment in self._session.timeline().between(offset, part_end):
                if moment.offset > offset:
                    offset = await send_range(self._call, self._session, self._log, offset, moment.offset)
                await self._call.say(messages.StreamTime(offset=offset, unix_s=moment.unix_s, stream=moment.stream))
            before = offset
            offset = await send_range(self._call, self._session, self._log, offset, part_end)
            if offset == before:
                break
        return offset

    def _too_late(self) -> bool:
        return self._asked.until_unix_s is not None and time.time() >= self._asked.until_unix_s

    async def _wait(self, ticket: asyncio.Event) -> None:
        until = self._asked.until_unix_s
        try:
            async with asyncio.timeout(None if until is None else max(0.0, until - time.time())):
                await ticket.wait()
        except TimeoutError:
            pass
