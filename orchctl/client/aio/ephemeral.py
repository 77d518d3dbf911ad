"""The awaitable form of a client with a supervisor of its own."""

from __future__ import annotations

import asyncio
import os

from orchctl.client.aio.client import AsyncClient
from orchctl.client.ephemeral import make_home, remove_home, session_environment


class AsyncEphemeralClient(AsyncClient):
    """A client that owns its supervisor. What is forked from its process may use it, but does not end it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        super().__init__(state_dir=make_home())

    async def close(self) -> None:
        """End every session and the supervisor, and leave nothing behind."""
        if self._owner == os.getpid() and not self._closed:
            if self._starting is not None and not self._starting.done():
                await asyncio.wait([self._starting])  # somebody was cancelled while it started
            await self.stop_supervisor(kill=True)
            remove_home(self.root.path)
        await super().close()

    def _environment(self) -> dict[str, str]:
        return session_environment(self.root.path)

    def _bound(self, pid: int | None) -> int | None:
        return self._owner if pid is None else pid  # holds even when nobody is left to end the session
