"""The kernel's numbers for the calls in which threads sleep, on the machines we know.

On another machine nothing is known, and whoever asks is told so.
"""

from __future__ import annotations

import os

# name: the number on x86-64, and on aarch64, which lacks the older ones
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # of one descriptor, the first argument
    "read": (0, 63),
    "readv": (19, 65),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "preadv2": (327, 286),
    # of several
    "poll": (7, None),
    "select": (23, None),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441),
    # for something that is no input from a terminal
    "write": (1, 64),
    "ioctl": (16, 29),
    "writev": (20, 66),
    "pause": (34, None),
    "nanosleep": (35, 101),
    "connect": (42, 203),
    "accept": (43, 202),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "wait4": (61, 260),
    "semop": (65, 193),
    "msgrcv": (70, 188),
    "fcntl": (72, 25),
    "flock": (73, 32),
    "fsync": (74, 82),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "futex": (202, 98),
    "semtimedop": (220, 192),
    "clock_nanosleep": (230, 115),
    "mq_timedreceive": (243, 183),
    "waitid": (247, 95),
    "openat": (257, 56),
    "accept4": (288, 242),
    "recvmmsg": (299, 243),
    "futex_waitv": (449, 449),
    "futex_wait": (455, 455),
}
READS = frozenset({"read", "readv", "pread64", "preadv", "preadv2"})
POLLS = frozenset({"poll", "select", "pselect6", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2"})
_COLUMNS = {"x86_64": 0, "aarch64": 1}
# Of an ELF file: 64 bits, and the machine. A program of 32 bits has other numbers, on the same kernel.
_MACHINES = {"x86_64": 62, "aarch64": 183}
_HEAD_BYTES = 20


def names(machine: str) -> dict[int, str]:
    """The calls by number; empty for a machine that is not known."""
    column = _COLUMNS.get(machine)
    if column is None:
        return {}
    return {number: name for name, row in _NUMBERS.items() if (number := row[column]) is not None}


NAMES = names(os.uname().machine)


def is_native(pid: int) -> bool:
    """Whether the numbers are right for what this process runs; False if that cannot be seen."""
    try:
        with open(f"/proc/{pid}/exe", "rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    wanted = _MACHINES.get(os.uname().machine)
    return head[:5] == b"\x7fELF\x02" and int.from_bytes(head[18:20], "little") == wanted


def sleeps_in(pid: int, thread: int) -> tuple[str, list[int]] | None:
    """The call and its arguments; a name of "" means that it runs, "?" a call we do not know; None: not ours to see."""
    try:
        with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
            words = file.read().split()
    except OSError:
        return None
    if not words or words[0] in ("running", "-1"):
        return "", []
    return NAMES.get(int(words[0]), "?"), [int(word, 16) for word in words[1:7]]
