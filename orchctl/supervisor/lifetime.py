"""The end of a supervisor that nobody needs: no session, and no client for a while.

Nobody is lost on the way. Under the start lock, so that nobody starts another meanwhile, the socket is moved aside;
who connected before that is still waiting at the door, and is let in: then the socket comes back. Who finds no socket
waits for the start lock, and starts a new supervisor once this one is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import time

from orchctl import procfs
from orchctl.pair.daemon import NO_PROCESS
from orchctl.paths import Root
from orchctl.session import environment, layout
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.handlers.control import end_all
from orchctl.supervisor.server import Server

log = logging.getLogger(__name__)
LOOK_S = 1.0
PAUSE_S = 0.05  # who had found the socket when it was moved has connected by then


class Idleness:
    """One task, for as long as the supervisor lives."""

    def __init__(self, app: Supervisor, server: Server) -> None:
        self._app = app
        self._server = server
        self._busy_at = time.monotonic()

    async def run(self) -> None:
        """Until it was idle for too long."""
        while not (0 < self._limit_s <= self._idle_s() and await self._leave()):
            await asyncio.sleep(min(LOOK_S, self._limit_s / 4) or LOOK_S)
            if self._busy():
                self._busy_at = time.monotonic()
        log.info("nobody came for %.0f s", self._limit_s)
        self._app.stop.set()

    @property
    def _limit_s(self) -> float:
        """0: never."""
        return environment.idle_exit_s(self._app.house.config.idle_exit_s, os.environ)

    def _idle_s(self) -> float:
        return time.monotonic() - max(self._busy_at, self._server.left_at)

    def _busy(self) -> bool:
        return bool(self._server.connections or self._app.registry.held())

    async def _leave(self) -> bool:
        """Shut the door, unless somebody is there."""
        root = self._app.root
        lock = _lock(root.start_lock)
        if lock is None:
            return False
        try:
            os.rename(root.socket, root.socket_aside)
            await asyncio.sleep(PAUSE_S)
        except BaseException as error:
            reopen(root)
            os.close(lock)
            if isinstance(error, OSError):
                return False
            raise
        if not self._busy() and not self._server.let_in():
            return True  # the lock goes with this process
        reopen(root)
        os.close(lock)
        return False


def _lock(path: str) -> int | None:
    """Somebody who holds it is about to come."""
    fd = -1
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if fd >= 0:
            os.close(fd)
        return None
    return fd


def reopen(root: Root) -> None:
    """Put the socket back; also after a supervisor that was killed while it was about to end."""
    with contextlib.suppress(FileNotFoundError):
        os.rename(root.socket_aside, root.socket)


GRACE_S = 5.0


async def watch(app: Supervisor) -> None:
    """Until it has ended; then every session ends, and so do we."""
    found = _read(app.root.path)
    if found is None:
        return
    await _end_of(found)
    log.info("the owner, process %d, has ended", found.pid)
    survivors: tuple[int, ...] = ()
    while app.registry.live() and not survivors:
        survivors = (await end_all(app.registry.all(), GRACE_S)).survivors
    await end_all([*app.registry.all(), *app.registry.servers()], GRACE_S)  # what ended sessions left running
    if survivors:
        log.warning("these processes would not end: %s", survivors)
    app.stop.set()


def _read(root: str) -> layout.Owner | None:
    try:
        with open(f"{root}/{layout.OWNER}", "rb") as file:
            return layout.decode(file.read(64))
    except OSError:
        return None


async def _end_of(found: layout.Owner) -> None:
    try:
        pidfd = os.pidfd_open(found.pid)
    except OSError as error:
        if error.errno in NO_PROCESS:
            return
        raise
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        if procfs.start_ticks(found.pid) == found.ticks:  # else its number is somebody else's by now
            loop.add_reader(pidfd, ended.set)
            await ended.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
