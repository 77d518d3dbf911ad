"""A state directory that ends with its owner: removed by the last process of ours, when the owner cannot do it."""

from __future__ import annotations

import contextlib
import errno
import os
import select

from orchctl.pair.tree import start_ticks
from orchctl.session import layout, owner

# What pidfd_open says of a number that nobody has, or that is by now a thread's of another process: kernels differ
NO_PROCESS = (errno.ESRCH, errno.EINVAL, errno.ENOENT)


def clear_up(root: str) -> None:
    """Take the whole directory away, if it names an owner and that has ended."""
    try:
        with open(f"{root}/{layout.OWNER}", "rb") as file:
            found = owner.decode(file.read(64))
    except OSError:
        return
    if found is not None and not _lives(found):
        with contextlib.suppress(OSError):
            _remove(root)


def _lives(found: owner.Owner) -> bool:
    """Not if it is a zombie: nobody knows when that is reaped."""
    try:
        pidfd = os.pidfd_open(found.pid)
    except OSError as error:
        return error.errno not in NO_PROCESS
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return start_ticks(found.pid) == found.ticks and not poll.poll(0)
    finally:
        os.close(pidfd)


def _remove(folder: str) -> None:
    """Everything below it and itself; what cannot be removed stays. No link is followed."""
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(folder)
