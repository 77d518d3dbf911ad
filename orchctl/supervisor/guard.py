"""A fault in what belongs to one client or one session must not take the others down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")


async def guarded(name: str, work: Coroutine[Any, Any, None]) -> None:
    """Do `work`; a bug in it is logged and ends it alone."""
    try:
        await work
    except Exception:
        log.exception("%s failed", name)


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
