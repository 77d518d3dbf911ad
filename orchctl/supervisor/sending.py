"""Bytes of a log on their way to somebody: in order, each once, and what is missing said with its range."""

from __future__ import annotations

from orchctl.log.reader import OutputLog
from orchctl.protocol import messages
from orchctl.protocol.frames import DATA_LIMIT_BYTES
from orchctl.supervisor.flow import Flow
from orchctl.supervisor.request import Call
from orchctl.supervisor.session import SupervisedSession


async def send_range(
    call: Call, session: SupervisedSession, log: OutputLog, offset: int, end: int, flow: Flow | None = None
) -> int:
    """Everything from `offset` to `end` that is kept, as fast as the reader takes it; where the next byte goes on."""
    if offset < end:
        await session.safety.settle(end)
    while offset < end:
        session.readers.at(call, offset)
        room = DATA_LIMIT_BYTES if flow is None else await flow.room()
        data = log.read(offset, min(DATA_LIMIT_BYTES, room, end - offset))
        if data:
            if flow is not None:
                flow.sent(len(data))
            sending = call.send_output(offset, data)
            offset += len(data)
            del data  # nobody holds it while a reader does not read
            await sending
            continue
        gap = log.gap(offset)
        if gap is None:
            break
        await call.say(messages.StreamGap(first=gap.first, end=gap.end))
        offset = gap.end
    return offset
