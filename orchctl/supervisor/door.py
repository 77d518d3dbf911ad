"""The supervisor's own place on disk: its socket, its lock and the directory they are in, watched and put back.

Once a second the files that the paths of socket and lock name are compared with ours. Where one is another, or none,
whatever lies in the socket's place is replaced by a new socket, which the zygote gets too, so that no client is refused
when this process dies, and the lock is taken anew. Nobody else binds there: that takes the lock. If the whole directory
was deleted it is made anew, closed to others, and locked; unless another supervisor has it by then, because there must
never be two. Sessions do not notice: a pair needs no path. What was in their folders is lost, and `list` says so.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import stat
from typing import TYPE_CHECKING

from orchctl.errors import OrchctlError
from orchctl.pair.daemon import BACKLOG
from orchctl.pair.daemon_io import follow_log, identity
from orchctl.paths import Root, prepare, socket_address

if TYPE_CHECKING:
    from orchctl.supervisor.server import Server
    from orchctl.supervisor.zygote import ZygoteLink

log = logging.getLogger(__name__)


class Door:
    """Of one supervisor, for as long as it lives."""

    def __init__(self, root: Root, server: Server, zygote: ZygoteLink) -> None:
        self._root = root
        self._server = server
        self._zygote = zygote
        self._bound: tuple[int, int] | None = None  # the file that leads to us, once that is known
        self._trouble = ""

    async def check(self) -> None:
        """See that clients find us; what cannot be done now is tried again by the next check."""
        found = identity(self._root.socket)
        if self._bound is None and found is not None and self._leads_here():
            self._bound = found
        if self._bound is not None and self._bound == identity(self._root.socket_aside):
            return  # we are about to end
        if self._bound is not None and self._bound == found and self._is_locked():
            return
        try:
            self._bind()
        except (OSError, OrchctlError) as error:
            if str(error) != self._trouble:
                log.warning("clients do not find the supervisor, and the socket cannot be bound again: %s", error)
            self._trouble = str(error)
            return
        log.warning("%s or its lock was removed or replaced; it is bound and locked again", self._root.socket)
        self._trouble = ""
        await self._zygote.hand_on_door()

    def _is_locked(self) -> bool:
        """Whether the lock that a second supervisor would ask for is ours: its file may have been replaced."""
        held = os.fstat(self._zygote.lock)
        return identity(self._root.lifetime_lock) == (held.st_dev, held.st_ino)

    def _leads_here(self) -> bool:
        """Whether the path leads to our own socket: the kernel names who listens there."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            try:
                with socket_address(self._root.socket) as address:
                    probe.connect(address)
            except OSError:
                return False
            return _listener(probe) == _listener(self._zygote.listener)

    def _bind(self) -> None:
        prepare(self._root)
        follow_log()
        lock = self._lock()
        path = self._root.socket
        fresh = f"{path}.new"
        if os.path.lexists(fresh):
            os.unlink(fresh)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_address(fresh) as address:
                listener.bind(address)
            listener.listen(BACKLOG)
            listener.setblocking(False)
            if os.path.lexists(path) and stat.S_ISDIR(os.lstat(path).st_mode):  # else the rename takes its place
                os.rename(path, f"{path}.was")
            os.rename(fresh, path)  # it listens before anybody finds it; no link is followed
        except OSError:
            listener.close()
            raise
        self._bound = identity(path)
        self._server.listen_on(listener)
        self._zygote.take_door(listener, lock)

    def _lock(self) -> int:
        """The lifetime lock that the path names now: it may have been deleted with the directory."""
        path = self._root.lifetime_lock
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.path.samestat(os.fstat(fd), os.fstat(self._zygote.lock)):
                os.close(fd)
                return self._zygote.lock
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            raise OrchctlError(f"another supervisor has the directory {self._root.path} by now") from None
        return fd


def _listener(connection: socket.socket) -> bytes:
    """Who called listen: of the socket itself, or of the one that it is connected to."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
