"""The awaitable twin of `orchctl/client/supervising.py`, made from it by `python -m tests.twins`; not to be edited."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from orchctl.client.aio.connection import AsyncConnection
from orchctl.client.aio.patience import AsyncPatience
from orchctl.client.connection import ConnectionLost
from orchctl.client.supervising import T
from orchctl.errors import SupervisorUnreachable
from orchctl.paths import Root
from orchctl.protocol import messages
from orchctl.session.model import RestartReport, SupervisorStatus

if TYPE_CHECKING:
    import socket


class AsyncSupervising(ABC):
    """A part of `Client`."""

    root: Root
    _own_manager: str
    _connection: AsyncConnection | None

    @abstractmethod
    async def _connect(self) -> AsyncConnection: ...

    @abstractmethod
    async def _greeted(self, connected: socket.socket) -> AsyncConnection: ...

    @abstractmethod
    def _hang_up(self) -> None: ...

    @abstractmethod
    async def _nothing_there(self) -> bool: ...

    @abstractmethod
    async def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    async def status(self) -> SupervisorStatus:
        """Of the running supervisor; never starts one."""
        try:
            return await self._status()
        except SupervisorUnreachable as error:
            if error.code != "degraded":
                raise
            from orchctl.client import degraded

            return degraded.status(self.root, error)

    @abstractmethod
    async def _status(self) -> SupervisorStatus:
        """By hand."""

    async def start_supervisor(self) -> SupervisorStatus:
        """Start it if there is none."""
        return (await self._ask(messages.GetStatus(), messages.Status)).status

    async def stop_supervisor(self, *, kill: bool = False, leave: bool = False) -> bool:
        """Stop it; False if there was none. Refused while sessions live, unless they are killed or left."""
        patience = AsyncPatience()
        while True:
            try:
                return await self._stop(messages.StopSupervisor(kill=kill, leave=leave, own_manager=self._own_manager))
            except ConnectionLost as error:
                self._hang_up()
                await patience.spend(error)

    @abstractmethod
    async def _stop(self, asked: messages.StopSupervisor) -> bool:
        """By hand."""

    async def restart_supervisor(self) -> RestartReport:
        """Have a new one, of the version that is installed now, take over; every session goes on."""
        old = await self.status()
        if old.running:
            asked = messages.RestartSupervisor(pid=old.pid or 0, zygote=old.zygote or 0, executable=sys.executable)
            await self._ask(asked, messages.Done)
        new = await self.start_supervisor()
        return RestartReport(
            old_pid=old.pid, pid=new.pid, zygote=new.zygote, version=new.version, sessions=new.sessions
        )
