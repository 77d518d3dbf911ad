"""Waking those who wait for a change, and running tasks whose faults must not take others down.

Take the token before you look, and wait for it after: then no change is missed in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar


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

    async def until(self, holds: Callable[[], bool], limit_s: float | None = None) -> bool:
        """Look at each change until that is so; False: it was not so in that time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not holds():
                    await self.ticket.wait()
                return True
        return False


async def set_within(event: asyncio.Event, limit_s: float | None) -> bool:
    """Whether it is set, or was set in that time; None waits for ever."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            return await event.wait()
    return False


async def either(*events: asyncio.Event, limit_s: float | None = None) -> None:
    """Until one of them is set, and no longer than that."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


log = logging.getLogger(__name__)
T = TypeVar("T")


async def guarded(name: str, work: Coroutine[Any, Any, None]) -> None:
    """Do `work`; a bug in it is logged and ends it alone."""
    try:
        await work
    except Exception:
        log.exception("%s failed", name)


FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0  # between an error and the next attempt


async def kept_up(name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do `work` to its end: after an error it is started again, each time a little later."""
    pause_s = FIRST_PAUSE_S
    while True:
        began_s = time.monotonic()
        try:
            await work()
            return
        except OSError as error:  # no descriptor left, a folder that is away: it may pass
            log.warning("%s: started again after an error: %s", name, error)
        except Exception:
            log.exception("%s: started again after an error", name)
        lasted = time.monotonic() - began_s > LONGEST_PAUSE_S
        pause_s = FIRST_PAUSE_S if lasted else min(LONGEST_PAUSE_S, 2 * pause_s)
        await asyncio.sleep(pause_s)


async def carried_through(tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives. It goes on when whoever waits for it hangs up, and stops only with the supervisor."""
    outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    tasks.create_task(_carry(work, outcome))
    return await asyncio.shield(outcome)


async def _carry(work: Coroutine[Any, Any, T], outcome: asyncio.Future[T]) -> None:
    try:
        outcome.set_result(await work)
    except Exception as error:  # noqa: BLE001 - whoever waits gets it
        outcome.set_exception(error)
