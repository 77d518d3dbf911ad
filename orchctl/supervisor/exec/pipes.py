"""What commands with pipes of their own write: stored before anybody is told of the end, kept until nobody reads it.

The mover drains the pipes into files (`pair/exec_pipes.py`). In a session of an older version the command writes the
files itself; then a full disk is an error, because nobody can tell what is missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import math

from orchctl.errors import Conflict, OrchctlError
from orchctl.log.commands import CommandStore, apart_files
from orchctl.supervisor.clock import boot_s
from orchctl.supervisor.exec.running import COME_BACK_S, Running
from orchctl.supervisor.pair import ANSWER_S, PairLink

DRAIN_S = 0.5  # how often a command that is over and cannot store its output is looked at


class CommandPipes:
    """Of one session."""

    def __init__(self, pair: PairLink, store: CommandStore) -> None:
        self._pair = pair
        self._store = store

    async def store(self, running: Running) -> None:
        """Wait until all that the command wrote to its pipes is stored. While the disk is full that takes its time;
        a command that is past its time, or whose caller is gone, ends without the rest, and says so.
        """
        if not running.asked.apart:
            return
        if not running.piped:
            self.watch_room(running)
            if running.short:
                raise OrchctlError(running.short, code="no-space")
            return
        exec_id, pair = running.asked.exec_id, self._pair
        draining = asyncio.ensure_future(pair.drain_pipes(exec_id))
        try:
            while not (await asyncio.wait((draining,), timeout=DRAIN_S))[0]:
                now = boot_s()
                late = running.timed_out or running.escalation.wait_s(now) == 0 or (running.left_at or math.inf) <= now
                if late and pair.stalled:
                    running.timed_out = True
                    running.short = f"the end of its output is missing: {pair.stalled}"
                    await pair.drain_pipes(exec_id, drop=True)
            await draining
        except Conflict:
            pass  # the session is over: its mover has stored everything before it went
        finally:
            draining.cancel()

    def watch_room(self, running: Running) -> None:
        """Note a full disk while a command writes its files itself, in a session of an older version."""
        if not running.piped and not self._store.has_room():
            running.short = "the disk is full, and some of the command's output may be missing"

    def forget(self, running: Running) -> None:
        """Remove what a command wrote to its pipes, once nobody reads it."""
        if running.asked.apart and running.viewers:
            self.forget_later(running, COME_BACK_S)
        elif running.asked.apart:
            running.kept = False
            self._store.remove(*apart_files(running.asked.exec_id))

    def forget_later(self, running: Running, after_s: float) -> None:
        """The same, when a caller that has lost its connection can be expected to be back, or gone."""
        asyncio.get_running_loop().call_later(after_s, self.forget, running)

    async def drop(self, running: Running) -> None:
        """Of a command that failed: nobody reads what it still writes."""
        with contextlib.suppress(Conflict, TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                await self._pair.drain_pipes(running.asked.exec_id, drop=True)
