"""What a client can ask of the supervisor itself: whether it runs, and that it starts, stops or is replaced."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from orchctl.client import start
from orchctl.client.connection import Connection, ConnectionLost
from orchctl.client.patience import Patience
from orchctl.errors import PeerBroke, SupervisorUnreachable
from orchctl.paths import Root
from orchctl.protocol import messages
from orchctl.session.model import RestartReport, SupervisorStatus

if TYPE_CHECKING:
    import socket

T = TypeVar("T", bound=messages.Answer)


class Supervising(ABC):
    """A part of `Client`."""

    root: Root
    _own_manager: str
    _connection: Connection | None

    @abstractmethod
    def _connect(self) -> Connection: ...

    @abstractmethod
    def _greeted(self, connected: socket.socket) -> Connection: ...

    @abstractmethod
    def _hang_up(self) -> None: ...

    @abstractmethod
    def _nothing_there(self) -> bool: ...

    @abstractmethod
    def _ask(self, request: messages.Request, kind: type[T], *, timeout_s: float | None = None) -> T: ...

    def status(self) -> SupervisorStatus:
        """Of the running supervisor; never starts one."""
        try:
            return self._status()
        except SupervisorUnreachable as error:
            if error.code != "degraded":
                raise
            from orchctl.client import degraded

            return degraded.status(self.root, error)

    def _status(self) -> SupervisorStatus:
        if self._connection is None:
            try:
                self._connection = self._greeted(start.connect(self.root))
            except start.NotRunning:
                return start.not_running(self.root)
            except ConnectionLost:
                pass  # it is just being replaced
        return self._ask(messages.GetStatus(), messages.Status).status

    def start_supervisor(self) -> SupervisorStatus:
        """Start it if there is none."""
        return self._ask(messages.GetStatus(), messages.Status).status

    def stop_supervisor(self, *, kill: bool = False, leave: bool = False) -> bool:
        """Stop it; False if there was none. Refused while sessions live, unless they are killed or left."""
        patience = Patience()
        while True:
            try:
                return self._stop(messages.StopSupervisor(kill=kill, leave=leave, own_manager=self._own_manager))
            except ConnectionLost as error:  # it was replaced, or has died
                self._hang_up()
                patience.spend(error)

    def _stop(self, asked: messages.StopSupervisor) -> bool:
        try:
            self._connection = self._connection or self._greeted(start.connect(self.root))
        except start.NotRunning:
            if not asked.kill or self._nothing_there():
                return False
            self._connection = self._connect()  # there are sessions to end, left by an earlier one
        except SupervisorUnreachable as error:
            if error.code != "degraded":
                raise
            from orchctl.client import degraded

            return degraded.stop(self.root, asked)
        expect(self._connection.ask(asked), messages.Done)
        self._connection.wait_for_end()
        self._hang_up()
        start.wait_until_gone(self.root)
        return True

    def restart_supervisor(self) -> RestartReport:
        """Have a new one, of the version that is installed now, take over; every session goes on."""
        old = self.status()
        if old.running:
            asked = messages.RestartSupervisor(pid=old.pid or 0, zygote=old.zygote or 0, executable=sys.executable)
            self._ask(asked, messages.Done)
        new = self.start_supervisor()
        return RestartReport(
            old_pid=old.pid, pid=new.pid, zygote=new.zygote, version=new.version, sessions=new.sessions
        )


def expect(answer: messages.Answer, kind: type[T]) -> T:
    """The answer that is due; another one is the supervisor's mistake."""
    if not isinstance(answer, kind):
        raise PeerBroke(f"the supervisor answered {answer.kind!r} where {kind.kind!r} was due")
    return answer
