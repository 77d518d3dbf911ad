"""One request under way: its number, and the way back to whoever asked."""

from __future__ import annotations

import asyncio
from dataclasses import field

from orchctl.lazy_dataclass import dataclass
from orchctl.protocol import codec, frames
from orchctl.protocol.messages import Answer
from orchctl.supervisor.flow import Flow


@dataclass(frozen=True, slots=True)
class Call:
    """Answers go out in the order they are given; a slow reader makes the caller wait, not the memory grow."""

    number: int
    writer: asyncio.StreamWriter
    peer: int = 0
    flows: dict[int, Flow] = field(default_factory=dict, compare=False)  # of this connection's streams, by number
    descriptors: list[int] = field(default_factory=list, compare=False)  # that came with requests, and nobody took yet

    async def say(self, answer: Answer) -> None:
        """Send one message."""
        self.writer.write(codec.encode(self.number, answer))
        await self.writer.drain()

    async def send_output(self, offset: int, data: bytes, channel: int = 0) -> None:
        """Send bytes of the log, or of a command's own stdout and stderr."""
        self.writer.write(frames.data_head(self.number, offset, len(data), channel) + data)
        del data  # the transport has what is left of it, and readers that do not read are many
        await self.writer.drain()
