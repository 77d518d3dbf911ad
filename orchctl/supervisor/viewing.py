"""A viewer's connection, and the lease as it is shown."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import field

from orchctl.lazy_dataclass import dataclass
from orchctl.protocol.messages.lease import LeaseNews
from orchctl.session.lease_state import Grip, Held, Identity, Lease, key_of

NEWS_LIMIT = 64  # for a viewer that does not read; each says all that counts


@dataclass(slots=True, eq=False)
class View:
    """One connection of a viewer, and what it has not been told yet."""

    key: str
    answers_from: int | None = None  # the byte of the output from which on its terminal answers what is asked in it
    listening: bool = False
    pending: deque[LeaseNews] = field(default_factory=lambda: deque(maxlen=NEWS_LIMIT))
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, news: LeaseNews) -> None:
        """To be told."""
        if self.listening:
            self.pending.append(news)
            self.arrived.set()

    async def next(self) -> LeaseNews:
        """The oldest that was not told yet."""
        while not self.pending:
            self.arrived.clear()
            await self.arrived.wait()
        return self.pending.popleft()


def identity(viewer: str, who: str, terminal: str | None) -> Identity:
    """Whoever knows a secret."""
    return Identity(key=key_of(viewer), who=who, terminal=terminal)


def shown(held: Held | None, now: float) -> Lease | None:
    """As everybody sees it."""
    if held is None:
        return None
    return Lease(
        holder=held.by.name,
        who=held.by.who,
        epoch=held.epoch,
        since=unix(held.since, now),
        terminal=held.by.terminal,
        expires_at=None if held.grip is Grip.TYPING else unix(held.until, now),
        returns_to=held.claims[-1].by.name if held.claims else None,
        away=held.grip is Grip.AWAY,
    )


def unix(at: float, now: float) -> float:
    """Seconds since boot as everybody reads them."""
    return round(time.time() + at - now, 3)
