"""Tells a caller, once a second, what its command waits for before it begins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from orchctl.protocol.messages import CommandWaits
from orchctl.session.command import CommandWait
from orchctl.supervisor.change import either
from orchctl.supervisor.request import Call

TELL_S = 1.0  # most commands begin earlier, and nobody needs to hear about those


class WaitNotice:
    """Of one call; says nothing to a caller that did not ask for it."""

    def __init__(self, call: Call, *, wanted: bool) -> None:
        self._call = call
        self._due_at = time.monotonic() + TELL_S if wanted else None

    async def wait(self, *events: asyncio.Event) -> None:
        """Until one of the events, or until the caller is to be told again."""
        left_s = None if self._due_at is None else max(0.0, self._due_at - time.monotonic())
        try:
            async with asyncio.timeout(left_s):
                await (events[0].wait() if len(events) == 1 else either(*events))
        except TimeoutError:
            pass

    async def tell(self, what: Callable[[], CommandWait]) -> None:
        """If it is time."""
        if self._due_at is not None and time.monotonic() >= self._due_at:
            self._due_at = time.monotonic() + TELL_S
            await self._call.say(CommandWaits(wait=what()))
