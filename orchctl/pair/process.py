"""What a process of ours tells the kernel about itself. Where the kernel is another one, nothing."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys
import time
from collections.abc import Callable

_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_TAKEN = (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC)
_OOM_HIGHEST = 1000
_OOM_ABOVE = 100  # as much as a tenth of all memory; a supervisor has far less
_OOM_LOOKS = 10  # a program that forks without end is not followed for ever
LOOK_AGAIN_S = 10.0  # at a limit: what a process waits by stands still while the machine sleeps
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def set_name(name: str) -> None:
    """What `ps` shows, 15 bytes at most."""
    _tell(_PR_SET_NAME, name.encode())


def become_subreaper() -> None:
    """Orphans below this process become its children, whatever they did to get away."""
    _tell(_PR_SET_CHILD_SUBREAPER, 1)


def shut_out_others() -> None:
    """Only root may look into this process: no memory, environment or descriptor for programs of the same user.

    Forks inherit it, and a program that is started is as open as ever: `exec` takes it back. It also means that
    /proc/PID of ours belongs to root, so that nobody but ourselves can follow the links in it, such as `exe`.
    """
    _tell(_PR_SET_DUMPABLE, 0)


def take_limits() -> None:
    """As much as we may have of what the client that started us had limited for itself; sessions have their asker's.

    Not the descriptors: of those a process that needs many takes more by itself.
    """
    for kind in _TAKEN:
        _, hard = resource.getrlimit(kind)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (hard, hard))


def boot_s() -> float:
    """Seconds since boot, also while the machine slept: what limits of a session are counted in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def take_descriptors() -> None:
    """As many as we may have; what a process gets by its fork may be what its parent was short of."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def make_likelier_victims(below: Callable[[], list[int]]) -> None:
    """Have the kernel, when memory runs out, end the processes `below` before it ends one of ours.

    What they start later inherits it; what they have started meanwhile is found by another look. Programs that nobody
    may look into, such as those that are setuid, stay as they are, and a score is only ever raised.
    """
    own, done = _oom_score("self"), set[int]()
    for _ in range(_OOM_LOOKS):
        fresh = [pid for pid in below() if pid not in done]
        if own is None or not fresh:
            return
        done |= {*fresh}
        for pid in fresh:
            if (score := _oom_score(pid)) is not None and score <= own:
                with contextlib.suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w", encoding="ascii") as file:
                    file.write(str(min(_OOM_HIGHEST, own + _OOM_ABOVE)))


def _oom_score(pid: int | str) -> int | None:
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())
    return None


def _tell(option: int, value: int | bytes) -> None:
    if _libc is not None:
        _libc.prctl(option, value, 0, 0, 0)
