"""Waking whoever waits for a change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class News:
    """Wakes everybody who waits for a change. Take the ticket before looking, wait after."""

    def __init__(self) -> None:
        self.ticket = asyncio.Event()
        self.listeners: dict[object, Callable[[], None]] = {}  # of those who wait for very many at once

    def tell(self) -> None:
        """Something changed: look again."""
        self.ticket.set()
        self.ticket = asyncio.Event()
        for listener in list(self.listeners.values()):
            listener()


async def either(*events: asyncio.Event) -> None:
    """Until one of them is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
