"""Output: a cursor into the log. Looking back, following live and catching up are the same loop."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from orchctl.errors import BadInput, Conflict
from orchctl.log.reader import OutputLog
from orchctl.protocol import messages
from orchctl.session.search import Screen
from orchctl.session.stream import grant
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.change import set_within
from orchctl.supervisor.request import Call, Flow, patiently, send_range, wait_for_files
from orchctl.supervisor.session import SupervisedSession

TIMED_BYTES = 1 << 20  # of output between two looks at when it came


async def read(app: Supervisor, call: Call, asked: messages.ReadOutput) -> None:
    """Send what was asked for; with `follow`, until the session is closed."""
    flow = None if asked.credit_bytes is None else Flow(grant(asked.credit_bytes))
    session = app.registry.find(asked.session, asked.own_manager)
    if asked.follow:
        session.refuse_own(call, "a program cannot follow the session it runs in")
    if call.number in call.flows:
        raise BadInput(f"request number {call.number} is that of a stream which has not ended", code="number-in-use")
    session, log = session.raw_log() if asked.raw else (session, session.open_log())
    try:
        if flow is not None:
            call.flows[call.number] = flow
        await _send(call, session, log, asked, flow, await _snapshot(app, call, session, asked, log))
    finally:
        if flow is not None and call.flows.get(call.number) is flow:
            del call.flows[call.number]
        session.readers.gone(call)
        log.close()


async def ack(app: Supervisor, call: Call, asked: messages.AckOutput) -> None:
    """Let a stream of the same connection go on."""
    flow = call.flows.get(asked.stream)
    if flow is None:
        raise BadInput(f"request {asked.stream} is no stream with credit, or has ended", code="no-such-stream")
    flow.ack(asked.count_bytes)
    await call.say(messages.Done())


async def _send(
    call: Call,
    session: SupervisedSession,
    log: OutputLog,
    asked: messages.ReadOutput,
    flow: Flow | None,
    screen: Screen | None,
) -> None:
    await wait_for_files(session)
    end = await patiently(lambda: log.end)
    offset = await _start(session, asked, log, end) if screen is None else screen.offset
    await call.say(messages.StreamBegins(session=await patiently(session.view), offset=offset))
    if screen is not None:
        await call.say(messages.StreamSnapshot(screen=screen))
    reading = _Reading(call, session, log, asked, flow)
    offset = await (reading.follow(offset) if asked.follow else reading.send(offset, reading.stop_before(end)))
    if flow is not None:
        del call.flows[call.number]  # before its end is known, so that an acknowledgement after it finds nothing
    await call.say(messages.StreamEnds(session=await patiently(session.view), offset=offset))


async def _snapshot(
    app: Supervisor, call: Call, session: SupervisedSession, asked: messages.ReadOutput, log: OutputLog
) -> Screen | None:
    """What the terminal shows, if it is wanted; retention leaves alone what comes after it."""
    if not asked.snapshot:
        return None
    if any(start is not None and start is not False for start in _starts(asked)):
        raise BadInput("a snapshot is where the stream begins: no offset, lines or time beside it")
    if session.spec.backend != "pty":
        raise Conflict(f"session {session.run.name or session.spec.id} has no terminal", code="no-terminal")
    session.readers.at(call, log.end)
    screen = await app.screening.screen(app.root.sessions, session.spec.id)
    await session.safety.settle(screen.offset)
    return replace(screen, name=session.run.name)


def _starts(asked: messages.ReadOutput) -> tuple[object, ...]:
    return asked.offset, asked.lines, asked.since_unix_s, asked.since_input, asked.since_own_input


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
        return min(end, await session.last_input(asked.own_manager if asked.since_own_input else None))
    return 0


class _Reading:
    """One reader's way through the log."""

    def __init__(
        self,
        call: Call,
        session: SupervisedSession,
        log: OutputLog,
        asked: messages.ReadOutput,
        flow: Flow | None,
    ) -> None:
        self._flow = flow
        self._named: int | None = None if asked.commands and session.spec.shell else -1  # how many commands
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
            before, end = offset, await patiently(lambda: self._log.end)
            if end < offset:  # no log becomes shorter: its folder is away
                await wait_for_files(self._session)
                end = await patiently(lambda: self._log.end)
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
            return await self._send(offset, end)
        while offset < end:
            part_end = min(end, offset + TIMED_BYTES)
            for moment in self._session.timeline().between(offset, part_end):
                if moment.offset > offset:
                    offset = await self._send(offset, moment.offset)
                await self._call.say(messages.StreamTime(offset=offset, unix_s=moment.unix_s, stream=moment.stream))
            before = offset
            offset = await self._send(offset, part_end)
            if offset == before:
                break
        return offset

    async def _send(self, offset: int, end: int) -> int:
        """Each command is named before the byte at which its line was typed."""
        if self._named == -1 or offset >= end:
            return await self._send_range(offset, end)
        typed = self._session.typed_log
        typed.look()  # after the log was: a line is on record before it is typed
        if self._named is None:
            self._named = typed.after(offset, self._log)
        while self._named < len(typed.lines) and (line := typed.lines[self._named]).offset < end:
            if line.offset > offset and (offset := await self._send_range(offset, line.offset)) < line.offset:
                return offset
            self._named += 1
            if line.until is None or line.until > offset:
                await self._call.say(
                    messages.StreamCommand(
                        exec_id=line.id, offset=line.offset, line=line.line, text=line.text, until=line.until
                    )
                )
        return await self._send_range(offset, end)

    async def _send_range(self, offset: int, end: int) -> int:
        return await send_range(self._call, self._session, self._log, offset, end, self._flow)

    def _too_late(self) -> bool:
        return self._asked.until_unix_s is not None and time.time() >= self._asked.until_unix_s

    async def _wait(self, ticket: asyncio.Event) -> None:
        until = self._asked.until_unix_s
        await set_within(ticket, None if until is None else max(0.0, until - time.time()))
