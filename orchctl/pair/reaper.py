"""How programs end whose keeper was killed: what is written down, and what the kernel still knows.

A keeper writes a `status` record before it reaps its program, so that its death afterwards loses nothing. When the
keeper is killed before that, the zygote inherits the program and reaps it; the status goes into `orphans.jnl` before
that, so that whoever sees the process gone finds it. When the zygote is gone too, the kernel may still tell:

    reaped, and a pidfd is held     PIDFD_GET_INFO, from Linux 6.15 on
    ended, and not reaped           field 52 of /proc/PID/stat, if this process may read it

Where none of them tells, the status is unknown. It is never guessed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time

from orchctl import procfs
from orchctl.log import journal
from orchctl.log.journal import Record
from orchctl.pair import tree
from orchctl.session import layout

ZYGOTE = tree.ZYGOTE
LIMIT_BYTES = 1 << 20
_INFO = struct.Struct("=QQ11Ii")  # struct pidfd_info, its first version: the mask first, the wait status last
_GET_INFO = 3 << 30 | _INFO.size << 16 | 0xFF << 8 | 11
_EXIT = 1 << 3  # the bit of the mask for the wait status
_EXIT_CODE = 49  # of /proc/PID/stat, counted from the state on


def forget_old(root: str) -> None:
    """Empty a file that has become too long; those who wait for a record in it wait a few seconds only."""
    with contextlib.suppress(FileNotFoundError):
        if os.stat(f"{root}/{layout.ORPHANS}").st_size > LIMIT_BYTES:
            os.truncate(f"{root}/{layout.ORPHANS}", 0)


def reap(root: str, own: set[int]) -> dict[int, str]:
    """Everything that has ended; what is not `own`, by fork, is an orphan, or another zygote. How our own ended."""
    how = {}
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            pid, exited = ended.si_pid, ended.si_code == os.CLD_EXITED
            if pid in own:
                how[pid] = f"with status {ended.si_status}" if exited else f"by signal {ended.si_status}"
            else:
                _record(root, pid, ended.si_status if exited else -ended.si_status)
            os.waitpid(pid, 0)
            own.discard(pid)
    return how


def children() -> dict[int, str]:
    """The names of this process's children; none where the kernel does not tell."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
        return {pid: _look(pid)[0] for pid in map(int, file.read().split())}
    return {}


def _record(root: str, pid: int, status: int) -> None:
    name, ticks = _look(pid)
    if name == ZYGOTE:
        return
    line = journal.encode({"type": "orphan", "pid": pid, "ticks": ticks, "status": status, "time": time.time()})
    with contextlib.suppress(OSError):  # then its end is not known, and nobody invents one
        fd = os.open(f"{root}/{layout.ORPHANS}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)


def _look(pid: int) -> tuple[str, int]:
    """Its name, and when it started in clock ticks since boot; it may be a zombie, but not reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
        return head.partition(b"(")[2].decode(errors="replace"), int(rest.split()[19])
    except (OSError, ValueError, IndexError):
        return "", 0


def journalled_status(records: list[Record]) -> int | None:
    """What the keeper of the newest run wrote down before it reaped the program."""
    status = None
    for record in records:
        if record.get("type") == "started":
            status = None
        elif record.get("type") == "status":
            status = int(record["status"])
    return status


def status_of_reaped(pidfd: int) -> int | None:
    """The status that the kernel keeps for a descriptor of a process that was reaped, by whomever."""
    info = bytearray(_INFO.pack(_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(pidfd, _GET_INFO, info)
    except (OSError, ValueError):  # an older kernel, or no descriptor
        return None
    mask, *_, status = _INFO.unpack(info)
    return os.waitstatus_to_exitcode(status) if mask & _EXIT else None


def status_of_zombie(pid: int, ticks: int) -> int | None:
    """The status of a process that has ended and that nobody has reaped.

    To those who may not look the kernel shows 0 in its place, so a 0 counts only where the look is allowed.
    """
    words = procfs.stat(pid)
    if len(words) <= _EXIT_CODE or words[procfs.STATE] != b"Z" or int(words[procfs.STARTED]) != ticks:
        return None
    status = int(words[_EXIT_CODE])
    if status == 0 and not _may_look(pid):
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
