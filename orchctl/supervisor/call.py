"""One request under way: its number, and the way back to whoever asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from orchctl.protocol import codec, framing
from orchctl.protocol.messages import Answer


@dataclass(frozen=True, slots=True)
class Call:
    """Answers go out in the order they are given; a slow reader makes the caller wait, not the memory grow."""

    number: int
    writer: asyncio.StreamWriter
    peer: int = 0

    async def say(self, answer: Answer) -> None:
        """Send one message."""
        self.writer.write(codec.encode(self.number, answer))
        await self.writer.drain()

    async def send_output(self, offset: int, data: bytes, channel: int = 0) -> None:
        """Send bytes of the log, or of a command's own stdout and stderr."""
        self.writer.write(framing.data_head(self.number, offset, len(data), channel) + data)
        await self.writer.drain()
