"""How a program ended that is not this process's child: what its journal says, and what the kernel still knows.

A keeper writes a `status` record before it reaps its program, so that its death afterwards loses nothing. When the
keeper is killed before that, the zygote inherits the program, reaps it and writes the status into `orphans.jnl`. When
the zygote is gone too, the kernel may still tell:

    reaped, and a pidfd is held     PIDFD_GET_INFO, from Linux 6.15 on
    ended, and not reaped           field 52 of /proc/PID/stat, if this process may read it

Where none of them tells, the status is unknown. It is never guessed.
"""

from __future__ import annotations

import fcntl
import os
import struct

from orchctl.log.journal import Record

_INFO = struct.Struct("=QQ11Ii")  # struct pidfd_info, its first version: the mask first, the wait status last
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_EXIT = 1 << 3  # the bit of the mask for the wait status
_TICKS, _EXIT_CODE = 19, 49  # of /proc/PID/stat, counted from the state on


def journalled(records: list[Record]) -> int | None:
    """What the keeper of the newest run wrote down before it reaped the program."""
    status = None
    for record in records:
        if record.get("type") == "started":
            status = None
        elif record.get("type") == "status":
            status = int(record["status"])
    return status


def of_reaped(pidfd: int) -> int | None:
    """The status that the kernel keeps for a descriptor of a process that was reaped, by whomever."""
    info = bytearray(_INFO.pack(_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(pidfd, _GET_INFO, info)
    except (OSError, ValueError):  # an older kernel, or no descriptor
        return None
    mask, *_, status = _INFO.unpack(info)
    return os.waitstatus_to_exitcode(status) if mask & _EXIT else None


def of_zombie(pid: int, ticks: int) -> int | None:
    """The status of a process that has ended and that nobody has reaped.

    To those who may not look the kernel shows 0 in its place, so a 0 counts only where the look is allowed.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
        if words[0] != b"Z" or int(words[_TICKS]) != ticks:
            return None
        status = int(words[_EXIT_CODE])
        if status == 0 and not _may_look(pid):
            return None
    except (OSError, IndexError, ValueError):
        return None
    return os.waitstatus_to_exitcode(status)


def _may_look(pid: int) -> bool:
    """The link has no target once the process has ended; whether it may be followed is checked before that."""
    try:
        os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
