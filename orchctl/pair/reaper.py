"""Reaping in the zygote: programs whose keeper was killed become its children, and how they end is written down.

A pair's survivor looks there. The record comes before the reaping, so that whoever sees the process gone finds it.
"""

from __future__ import annotations

import contextlib
import os
import time

from orchctl.log import journal
from orchctl.pair import tree
from orchctl.session import layout

ZYGOTE = tree.ZYGOTE
LIMIT_BYTES = 1 << 20


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
