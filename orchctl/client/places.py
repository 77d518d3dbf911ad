"""Which supervisor a client has: the user's, or one of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orchctl.client import start
from orchctl.client.inherited import environment
from orchctl.paths import find_root

if TYPE_CHECKING:
    from orchctl.client.client import Client


class Places:
    """A part of `Client`."""

    @classmethod
    def ephemeral(cls) -> Client:
        """A client with a private supervisor in a temporary directory, for tests and containers.

        Closing the client ends its sessions and the supervisor, and removes the directory. So does the end of
        this process, however it comes.
        """
        from orchctl.client.ephemeral import EphemeralClient

        return EphemeralClient()

    @classmethod
    def auto(cls) -> Client:
        """A client of the supervisor that runs, if there is one, else an ephemeral one."""
        from orchctl.client.client import Client

        try:
            start.connect(find_root(os.environ)).close()
        except start.NotRunning:
            return cls.ephemeral()
        return Client()

    def _environment(self) -> dict[str, str]:
        """What a session inherits."""
        return environment()

    def _bound(self, pid: int | None) -> int | None:
        """The process that a session ends with."""
        return pid
