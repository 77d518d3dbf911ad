"""Waking whoever waits for a change."""

from __future__ import annotations

import asyncio


class News:
    """Wakes everybody who waits for a change. Take the ticket before looking, wait after."""

    def __init__(self) -> None:
        self.ticket = asyncio.Event()

    def tell(self) -> None:
        """Something changed: look again."""
        self.ticket.set()
        self.ticket = asyncio.Event()
