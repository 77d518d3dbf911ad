"""Safe from power loss: a session's files synced in a worker thread, never in anybody's way."""

from __future__ import annotations

import asyncio
import os

from orchctl.log.disk import REAL
from orchctl.log.sync import Syncer


class Safety:
    """Of one session."""

    def __init__(self, folder: str, *, strict: bool) -> None:
        self._folder = folder
        self.strict = strict  # nothing is shown before it is safe
        self._syncer: Syncer | None = None
        self._turn = asyncio.Lock()

    @property
    def durable(self) -> int:
        """Output before this is safe."""
        return self._syncer.durable if self._syncer is not None else 0

    @property
    def sealed(self) -> bool:
        """Whether everything that was sealed is written down."""
        return self._syncer is not None and self._syncer.said

    async def sync(self, *, closed: bool = False) -> list[tuple[int, str]]:
        """All that grew; the segments that have become suspect, and why."""
        async with self._turn:
            return await asyncio.to_thread(self._sync, closed)

    async def settle_all(self) -> None:
        """The same for all of it, its directory's own name included."""
        if self.strict:
            await self.settle()
            await asyncio.to_thread(REAL.sync_folder, os.path.dirname(self._folder))

    async def settle(self, end: int | None = None) -> None:
        """Where that was asked for: wait until everything, or the output up to `end`, is safe."""
        if not self.strict:
            return
        async with self._turn:
            if self._syncer is None or end is None or self._syncer.durable < end:
                await asyncio.to_thread(self._sync, False)

    def _sync(self, closed: bool) -> list[tuple[int, str]]:
        if self._syncer is None:
            self._syncer = Syncer(REAL, self._folder)
        return self._syncer.sync(closed=closed)
