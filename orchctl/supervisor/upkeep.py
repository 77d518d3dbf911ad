"""What is done without being asked for: syncing once a second, and taking away what is too old or too much."""

from __future__ import annotations

import asyncio
import logging
import time

from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.pruning import Pruning

log = logging.getLogger(__name__)
SYNC_S = 1.0
RETAIN_EVERY = 10  # of those


class Upkeep:
    """One task, for as long as the supervisor lives."""

    def __init__(self, app: Supervisor) -> None:
        self._app = app
        self._pruning = Pruning(app)

    async def run(self) -> None:
        """For ever; a disk that fails is tried again."""
        turn = 0
        while True:
            await asyncio.sleep(SYNC_S)
            turn += 1
            try:
                await self._sync()
                if turn % RETAIN_EVERY == 0:
                    await self._pruning.retain()
                    self._app.house.teller.retain(time.time())
            except OSError as error:
                log.warning("upkeep: %s", error)

    async def _sync(self) -> None:
        for session in self._app.registry.all():
            if session.closed and session.pair.gone.is_set():
                await session.wrap_up()
                self._app.registry.put_away(session)
                continue
            try:
                session.report(await session.safety.sync())
            except OSError as error:
                log.warning("session %s cannot be synced: %s", session.spec.id, error.strerror)
            session.tell()
        await asyncio.to_thread(self._app.house.teller.events.sync)
