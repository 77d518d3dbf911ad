"""Commands past their time, or whose callers are gone: ended step by step, with all they started."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable

from orchctl.errors import Conflict, OrchctlError
from orchctl.shell.execution import Step
from orchctl.supervisor.change import either
from orchctl.supervisor.exec.interrupting import interrupt
from orchctl.supervisor.exec.running import Running
from orchctl.supervisor.pair import PairLink

LOOK_AGAIN_S = 0.05
FIRST_LOOK_S = 0.001  # whether the shell is at its prompt is looked at again soon, and then less often
HOLD_S = 10.0  # a prompt that takes longer to draw may be none
LOOK_AT_TERMINAL_S = 0.2  # whether the shell is back without a mark gives no event


class Overtime:
    """Of one session."""

    def __init__(self, pair: PairLink, has_left: Callable[[Running], bool] = lambda _: False) -> None:
        self._pair = pair
        self._has_left = has_left  # whether the shell is on its way to its prompt, though no mark tells it

    async def check(self, running: Running) -> None:
        """Take the next step against a command that is past its time, or whose caller is gone."""
        now = time.monotonic()
        if running.left_at is not None and now >= running.left_at:
            running.escalation.begin(now)
        if running.escalation.wait_s(now) != 0:
            return
        # a shell that is interrupted while it draws its prompt begins to draw it anew
        if running.drawing or self._has_left(running):
            running.held_at = now if running.held_at is None else running.held_at
            if now < running.held_at + HOLD_S:
                return
        await self._escalate(running, running.escalation.due(now))

    async def wait(self, running: Running, ticket: asyncio.Event) -> None:
        """For news, or until the next step is due."""
        await self.check(running)
        now = time.monotonic()
        waits = [running.escalation.wait_s(now), running.left_at and max(0.0, running.left_at - now)]
        limit = min((wait for wait in waits if wait is not None), default=LOOK_AT_TERMINAL_S)
        limit = min(limit, LOOK_AT_TERMINAL_S) + 0.01
        if running.told is not None or running.lost:
            limit = min(limit, FIRST_LOOK_S * 2 ** min(running.looks, 8))
            running.looks += 1
        try:
            async with asyncio.timeout(limit):
                await either(ticket, running.news.ticket)
        except TimeoutError:
            pass

    async def _escalate(self, running: Running, step: Step) -> None:
        if step is Step.NOTHING:
            return
        running.timed_out = True

        def about(program: bool) -> None:
            self._has_left(running)  # it can tell only of a file that it has seen open
            running.interrupted(program)

        await interrupt(self._pair, about)
        if step in (Step.TERMINATE, Step.KILL):
            number = signal.SIGTERM if step is Step.TERMINATE else signal.SIGKILL
            with contextlib.suppress(Conflict):
                await self._pair.sweep(running.ticks, number)
        if step is Step.GIVE_UP and self._pair.stalled:
            raise OrchctlError(
                f"the output cannot be stored ({self._pair.stalled}), and how the command ended is not known",
                code="no-space",
            )
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
