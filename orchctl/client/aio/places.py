"""The awaitable twin of `orchctl/client/places.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orchctl.client import start
from orchctl.client.inherited import environment
from orchctl.paths import find_root

if TYPE_CHECKING:
    from orchctl.client.aio.client import AsyncClient


class AsyncPlaces:
    """A part of `Client`."""

    @classmethod
    def ephemeral(cls) -> AsyncClient:
        """A client with a private supervisor in a temporary directory, for tests and containers.

        Closing the client ends its sessions and the supervisor, and removes the directory. So does the end of
        this process, however it comes.
        """
        from orchctl.client.aio.ephemeral import AsyncEphemeralClient

        return AsyncEphemeralClient()

    @classmethod
    def auto(cls) -> AsyncClient:
        """A client of the supervisor that runs, if there is one, else an ephemeral one."""
        from orchctl.client.aio.client import AsyncClient

        try:
            start.connect(find_root(os.environ)).close()
        except start.NotRunning:
            return cls.ephemeral()
        return AsyncClient()

    def _environment(self) -> dict[str, str]:
        """What a session inherits."""
        return environment()

    def _bound(self, pid: int | None) -> int | None:
        """The process that a session ends with."""
        return pid
