"""A supervisor of one's own, in a temporary directory, which ends with the process that made it.

The owner is written down before the supervisor starts. Whichever supervisor runs there watches that process, so that
nothing outlives it even when it is killed; the zygote removes the directory then. Here it is done on `close`.
"""

from __future__ import annotations

import os
import shutil
import tempfile

from orchctl.client.client import Client
from orchctl.client.connection import Connection
from orchctl.client.inherited import environment, start_ticks
from orchctl.errors import NotPermitted, OrchctlError, SupervisorUnreachable
from orchctl.session import layout, owner


class EphemeralClient(Client):
    """A client that owns its supervisor. What is forked from its process may use it, but does not end it."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._over = False
        self._connecting = False  # begun and not ended: somebody was interrupted, and it may be about to start
        super().__init__(state_dir=make_home())

    def close(self) -> None:
        """End every session and the supervisor, and leave nothing behind."""
        if self._owner == os.getpid() and not self._over:
            if self._connecting:
                self._connection = self._connect()
            self.stop_supervisor(kill=True)
            self._over = True
            remove_home(self.root.path)
        self._hang_up()

    def _connect(self) -> Connection:
        if self._over:
            raise closed()
        self._connecting = True
        try:
            connection = super()._connect()
        except OrchctlError:
            self._connecting = False
            raise
        self._connecting = False
        return connection

    def _environment(self) -> dict[str, str]:
        return session_environment(self.root.path)

    def _bound(self, pid: int | None) -> int | None:
        return self._owner if pid is None else pid  # holds even when nobody is left to end the session


def make_home() -> str:
    """A new state directory whose owner is this process."""
    try:
        path = tempfile.mkdtemp(prefix="orchctl-")
        with open(f"{path}/{layout.OWNER}", "wb") as file:
            file.write(owner.encode(owner.Owner(os.getpid(), start_ticks(os.getpid()))))
    except OSError as error:
        raise NotPermitted(
            f"cannot make a temporary directory: {error.strerror}; set TMPDIR to one of your own", code="bad-state-dir"
        ) from None
    return path


def remove_home(path: str) -> None:
    """Nobody uses it any more; what cannot be removed stays."""
    shutil.rmtree(path, ignore_errors=True)


def session_environment(path: str) -> dict[str, str]:
    """What a session there inherits: tools in it reach the supervisor that holds it."""
    env = environment() | {"ORCHCTL_STATE_DIR": path}
    env.pop("ORCHCTL_HOST", None)
    return env


def closed() -> SupervisorUnreachable:
    """For whoever asks a client that is over."""
    return SupervisorUnreachable("the client was closed", code="client-closed")
