"""A stream that is sent no faster than its reader acknowledges it."""

from __future__ import annotations

import asyncio

from orchctl.session.stream import Credit


class Flow:
    """One stream's credit, and waiting for it."""

    def __init__(self, credit: Credit) -> None:
        self._credit = credit
        self._more = asyncio.Event()

    async def room(self) -> int:
        """How many bytes may be sent; waits until there is one."""
        while not self._credit.left_bytes:
            self._more.clear()
            await self._more.wait()
        return self._credit.left_bytes

    def sent(self, count: int) -> None:
        """So many bytes are on their way."""
        self._credit = self._credit.send(count)

    def ack(self, count: int) -> None:
        """So many have arrived."""
        self._credit = self._credit.ack(count)
        self._more.set()
