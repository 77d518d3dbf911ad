"""Starting a supervisor, and seeing it go, while others go on.

The start itself is the blocking one, in a thread: it ends in seconds, and is hard enough to get right once.
"""

from __future__ import annotations

import asyncio
import fcntl
import os

from orchctl.client import start
from orchctl.paths import Root

LOCK_PAUSE_S = 0.02  # the kernel tells nobody that a lock is free


async def ensure(root: Root) -> None:
    """Start a supervisor unless there is one by now."""
    (await asyncio.to_thread(start.reach, root)).close()


async def wait_until_gone(root: Root) -> None:
    """Until neither supervisor nor zygote lives: they hold the lifetime lock to the last."""
    fd = os.open(root.lifetime_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while not _try(fd):
            await asyncio.sleep(LOCK_PAUSE_S)
    finally:
        os.close(fd)


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
