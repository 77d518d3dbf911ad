"""What a process of ours tells the kernel about itself. Where the kernel is another one, nothing."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_TAKEN = (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_NPROC)
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


def _tell(option: int, value: int | bytes) -> None:
    if _libc is not None:
        _libc.prctl(option, value, 0, 0, 0)
