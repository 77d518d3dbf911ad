"""Bytes of a log on their way to somebody: in order, each once, and what is missing said with its range."""

from __future__ import annotations

from orchctl.protocol import messages
from orchctl.protocol.framing import DATA_LIMIT_BYTES
from orchctl.store.output import OutputLog
from orchctl.supervisor.call import Call
from orchctl.supervisor.session import SupervisedSession


async def send_range(call: Call, session: SupervisedSession, log: OutputLog, offset: int, end: int) -> int:
    """Everything from `offset` to `end` that is kept; where the next byte goes on."""
    if offset < end:
        await session.safety.settle(end)
    while offset < end:
        session.readers.at(call, offset)
        data = log.read(offset, min(DATA_LIMIT_BYTES, end - offset))
        if data:
            await call.send_output(offset, data)
            offset += len(data)
            continue
        gap = log.gap(offset)
        if gap is None:
            break
        await call.say(messages.StreamGap(first=gap.first, end=gap.end))
        offset = gap.end
    return offset
