"""Output: a cursor into the log. Looking back, following live and catching up are the same loop."""

from __future__ import annotations

from orchctl.errors import BadInput, Conflict
from orchctl.protocol import messages
from orchctl.protocol.framing import DATA_LIMIT_BYTES
from orchctl.store.output import OutputLog
from orchctl.supervisor.ancestry import descends_from
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.call import Call
from orchctl.supervisor.session import SupervisedSession


async def read(app: Supervisor, call: Call, asked: messages.ReadOutput) -> None:
    """Send what was asked for; with `follow`, until the session is closed."""
    session = app.registry.find(asked.session, asked.own_manager)
    if asked.follow and session.run.pid is not None and descends_from(call.peer, session.run.pid):
        raise Conflict("a program cannot follow the session it runs in", code="own-session")
    log = session.open_log()
    try:
        end = log.end
        offset = await _start(session, asked, log, end)
        await call.say(messages.StreamBegins(session=session.view(), offset=offset))
        offset = await (_follow(call, session, log, offset) if asked.follow else _send(call, log, offset, end))
        await call.say(messages.StreamEnds(session=session.view(), offset=offset))
    finally:
        log.close()


async def _start(session: SupervisedSession, asked: messages.ReadOutput, log: OutputLog, end: int) -> int:
    if asked.offset is not None:
        if not 0 <= asked.offset <= end:
            raise BadInput(f"offset {asked.offset} is not in the log, which ends at {end}", code="bad-offset")
        return asked.offset
    if asked.lines is not None:
        return log.start_of_last_lines(max(0, asked.lines), end)
    if asked.since_input and not session.pair.gone.is_set():
        return min(end, int((await session.pair.look())["typed_at"]))
    return 0


async def _send(call: Call, log: OutputLog, offset: int, end: int) -> int:
    while data := log.read(offset, min(DATA_LIMIT_BYTES, end - offset)):
        await call.send_output(offset, data)
        offset += len(data)
    return offset


async def _follow(call: Call, session: SupervisedSession, log: OutputLog, offset: int) -> int:
    while True:
        ticket, closed = session.news.ticket, session.closed
        before = offset
        offset = await _send(call, log, offset, log.end)
        if offset > before:
            continue
        if closed:  # seen before the log was found to end here: its last byte has been sent
            return offset
        session.pair.watch(offset)
        await ticket.wait()
