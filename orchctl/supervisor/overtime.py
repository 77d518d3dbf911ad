"""Commands past their time, or whose callers are gone: ended step by step, with all they started."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time

from orchctl.core.escalation import Step
from orchctl.errors import Conflict
from orchctl.supervisor.interrupting import interrupt
from orchctl.supervisor.news import either
from orchctl.supervisor.pair import PairLink
from orchctl.supervisor.running import Running

LOOK_AGAIN_S = 0.05
LOOK_AT_TERMINAL_S = 0.2  # whether the shell is back without a mark gives no event


class Overtime:
    """Of one session."""

    def __init__(self, pair: PairLink) -> None:
        self._pair = pair

    async def check(self, running: Running) -> None:
        """Take the next step against a command that is past its time, or whose caller is gone."""
        now = time.monotonic()
        if running.left_at is not None and now >= running.left_at:
            running.escalation.begin(now)
        await self._escalate(running, running.escalation.due(now))

    async def wait(self, running: Running, ticket: asyncio.Event) -> None:
        """For news, or until the next step is due."""
        await self.check(running)
        now = time.monotonic()
        waits = [running.escalation.wait_s(now), running.left_at and max(0.0, running.left_at - now)]
        limit = min((wait for wait in waits if wait is not None), default=LOOK_AT_TERMINAL_S)
        limit = min(limit, LOOK_AT_TERMINAL_S)
        try:
            async with asyncio.timeout(limit + 0.01):
                await either(ticket, running.news.ticket)
        except TimeoutError:
            pass

    async def _escalate(self, running: Running, step: Step) -> None:
        if step is Step.NOTHING:
            return
        running.timed_out = True
        await interrupt(self._pair, running.interrupted)
        if step in (Step.TERMINATE, Step.KILL):
            number = signal.SIGTERM if step is Step.TERMINATE else signal.SIGKILL
            with contextlib.suppress(Conflict):
                await self._pair.sweep(running.ticks, number)
        if step is Step.GIVE_UP:
            raise Conflict("the shell did not come back after the time-out; the session is not usable", code="stuck")

    async def sweep(self, running: Running) -> None:
        """What a timed-out command left running ends with it."""
        until = time.monotonic() + running.asked.kill_after_s
        number = signal.SIGTERM
        try:
            while await self._pair.sweep(running.ticks, number):
                await asyncio.sleep(LOOK_AGAIN_S)  # the kernel gives no event for the end of another's children
                number = signal.SIGKILL if time.monotonic() >= until else signal.Signals.SIGTERM
                if time.monotonic() >= until + 2:
                    return
        except Conflict:
            return  # the session ended, and everything with it
