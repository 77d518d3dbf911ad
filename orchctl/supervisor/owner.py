"""The process that this supervisor ends with, if its state directory names one: watched, and followed.

It is on disk, so a supervisor that takes over from one that was killed goes on watching.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os

from orchctl.pair.daemon import NO_PROCESS
from orchctl.session import layout, owner
from orchctl.supervisor.app import Supervisor
from orchctl.supervisor.handlers.control import end_all

log = logging.getLogger(__name__)
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


def _read(root: str) -> owner.Owner | None:
    try:
        with open(f"{root}/{layout.OWNER}", "rb") as file:
            return owner.decode(file.read(64))
    except OSError:
        return None


async def _end_of(found: owner.Owner) -> None:
    try:
        pidfd = os.pidfd_open(found.pid)
    except OSError as error:
        if error.errno in NO_PROCESS:
            return
        raise
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    try:
        if _ticks(found.pid) == found.ticks:  # else its number is somebody else's by now
            loop.add_reader(pidfd, ended.set)
            await ended.wait()
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


def _ticks(pid: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])
    return 0
