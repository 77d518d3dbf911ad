"""Whether somebody in a session sleeps until there is input, as the kernel tells it.

The keeper looks, because it is an ancestor of everything it looks at: elsewhere the kernel may refuse. What is
said is true or "unknown": a thread is believed to wait only while it sleeps in the call, with nothing to read.

    reads    a thread sleeps in a read of the terminal, or of the pipe that is the program's stdin
    polls    it waits for that to be readable, for nothing else, and without a limit
    watches  it waits for that among other things, or for a limited time: only marks can say more
    no       everybody can be seen, and nobody does any of this
    unknown  somebody cannot be seen, or does what we do not know
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import termios
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from orchctl import procfs
from orchctl.pair import kill, tree
from orchctl.pair.shared import Pair

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


LIMIT = 1024  # descriptors in one call; more are not looked at
_POLLED = struct.Struct("ihh")
_NESTED = ("anon_inode:[eventpoll]", "anon_inode:[io_uring]")  # what these wait for is not seen from here


@dataclass(frozen=True, slots=True)
class Door:
    """A terminal by its device, and by that of /dev/tty for who has it as its own; or a pipe by its inode."""

    device: int = 0
    also: int = 0
    inode: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class _Wait:
    """What a poll waits for: to read from these, for anything else, and whether for ever."""

    reads: list[int]
    others: bool
    limited: bool


def is_door(pid: int, fd: int, door: Door) -> bool:
    """Whether a descriptor of a process is the door; OSError when that cannot be seen."""
    found = os.stat(f"/proc/{pid}/fd/{fd}")
    if door.device:
        return found.st_rdev in (door.device, door.also) and found.st_rdev != 0
    return (found.st_dev, found.st_ino) == door.inode


def polled(pid: int, name: str, arguments: list[int], door: Door) -> str:
    """`polls` the door alone and without a limit, `watches` it among others, or `no`; OSError: it cannot be seen."""
    wait = _FORMS[name](pid, arguments)
    own = [fd for fd in wait.reads if is_door(pid, fd, door)]
    if own:
        return "watches" if wait.limited or wait.others or len(own) < len(wait.reads) else "polls"
    if any(os.readlink(f"/proc/{pid}/fd/{fd}") in _NESTED for fd in wait.reads):
        raise OSError("what it waits for is behind another descriptor")
    return "no"


def _poll(pid: int, arguments: list[int]) -> _Wait:
    address, count, limit_ms = arguments[:3]
    return _polled(pid, address, count, limited=limit_ms & 1 << 31 == 0)


def _ppoll(pid: int, arguments: list[int]) -> _Wait:
    address, count, limit = arguments[:3]
    return _polled(pid, address, count, limited=limit != 0)


def _polled(pid: int, address: int, count: int, *, limited: bool) -> _Wait:
    data = _memory(pid, address, _check(count) * _POLLED.size)
    wanted = [(fd, events) for fd, events, _ in _POLLED.iter_unpack(data) if fd >= 0]
    reads = [fd for fd, events in wanted if events & (select.POLLIN | select.POLLRDNORM)]
    return _Wait(reads, len(reads) < len(wanted), limited)


def _select(pid: int, arguments: list[int]) -> _Wait:
    count, reads, writes, errors, limit = arguments[:5]
    _check(count)
    found = [_set(pid, address, count) for address in (reads, writes, errors)]
    return _Wait(found[0], bool(set(found[1] + found[2]) - set(found[0])), limit != 0)


def _set(pid: int, address: int, count: int) -> list[int]:
    if address == 0:
        return []
    bits = int.from_bytes(_memory(pid, address, (count + 63) // 64 * 8), "little")
    return [fd for fd in range(count) if bits >> fd & 1]


def _epoll(pid: int, arguments: list[int]) -> _Wait:
    return _epolled(pid, arguments[0], limited=arguments[3] & 1 << 31 == 0)


def _epoll2(pid: int, arguments: list[int]) -> _Wait:
    return _epolled(pid, arguments[0], limited=arguments[3] != 0)


def _epolled(pid: int, fd: int, *, limited: bool) -> _Wait:
    with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
        lines = [line.split() for line in file if line.startswith("tfd:")]
    wanted = [(int(words[1]), int(words[3], 16)) for words in lines]
    reads = [fd for fd, events in wanted if events & select.EPOLLIN]
    return _Wait(reads, len(reads) < len(wanted), limited)


def _memory(pid: int, address: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        file.seek(address)
        data = file.read(size)
    if len(data) < size:
        raise OSError("its memory ends there")
    return data


def _check(count: int) -> int:
    if count > LIMIT:
        raise OSError("too many descriptors")
    return count


_FORMS = {
    "poll": _poll,
    "ppoll": _ppoll,
    "select": _select,
    "pselect6": _select,
    "epoll_wait": _epoll,
    "epoll_pwait": _epoll,
    "epoll_pwait2": _epoll2,
}


TRIES = 4  # what changed under our eyes is looked at again
THREADS = 2000  # more are not looked at, lest the keeper has no time for its own work
_TIOCGPTPEER = 0x5441
_OWN_TERMINAL = os.makedev(5, 0)  # /dev/tty
_BUSY, _UNSURE = "busy", "unknown"
_ORDER = ("reads", "polls", "watches", _UNSURE)  # the first that anybody does is what is told


NOTHING: dict[str, Any] = {"kernel": _UNSURE, "own": False, "local": None}


@dataclass(frozen=True, slots=True)
class _View:
    """One look: what is told, by whom, and in which modes the terminal was."""

    kernel: str
    pid: int = 0
    local: int | None = None


def seen(shared: Pair, *, leave_out: int) -> dict[str, Any]:
    """What is told of the session, the mover left out; `own` says that it is the session's own program."""
    if not shared.input_open:  # what it reads does not come from us
        return {"kernel": "no", "own": False, "local": None}
    with contextlib.suppress(OSError, termios.error):
        for _ in range(TRIES):
            before = _members(shared, leave_out), _modes(shared)
            view = _look(shared, *before)
            if (_members(shared, leave_out), _modes(shared)) == before:
                return {"kernel": view.kernel, "own": view.pid == shared.child, "local": view.local}
    return NOTHING


def _modes(shared: Pair) -> tuple[int, int | None]:
    if not shared.terminal:
        return 0, None
    return os.tcgetpgrp(shared.master), int(termios.tcgetattr(shared.master)[3])


def _look(shared: Pair, members: list[int], modes: tuple[int, int | None]) -> _View:
    front, local = modes
    if not NAMES:
        return _View(_UNSURE)
    with _door(shared) as (door, readable):
        found: dict[str, int] = {}
        visible, left = not shared.terminal, THREADS
        for pid in sorted(members, key=lambda pid: pid != shared.child):  # of several, the program itself is named
            kind, group, threads = _process(pid, door, front)
            visible = visible or group == front
            left -= threads
            found.setdefault(kind if left >= 0 else _UNSURE, pid)
        kind = next((kind for kind in _ORDER if kind in found), "no")
        if (readable and kind in ("reads", "polls", "watches")) or (kind == "no" and not visible):
            return _View(_UNSURE, local=local)  # input is on its way to whoever sleeps; or the front is hidden from us
        return _View(kind, 0 if kind == "no" else found[kind], local)


@contextlib.contextmanager
def _door(shared: Pair) -> Iterator[tuple[Door, bool]]:
    """What input comes in by, and whether there is some that nobody has taken yet.

    What was typed is handed over by a worker of the kernel. A poll of the program's own end waits for that
    worker: from then on who still sleeps in a read sleeps for more.
    """
    if not shared.terminal:
        found = os.fstat(shared.master)
        pending = bytearray(4)
        fcntl.ioctl(shared.master, termios.FIONREAD, pending)
        yield Door(inode=(found.st_dev, found.st_ino)), any(pending)
        return
    peer = fcntl.ioctl(shared.master, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        poll = select.poll()
        poll.register(peer, select.POLLIN)
        yield Door(device=os.fstat(peer).st_rdev), bool(poll.poll(0))
    finally:
        os.close(peer)


def _process(pid: int, door: Door, front: int) -> tuple[str, int, int]:
    """What a process does, its group, and how many threads it has."""
    stat = procfs.stat(pid)
    if not stat:
        return (_UNSURE if _exists(pid) else "no"), 0, 1
    same = door.device != 0 and int(stat[procfs.TERMINAL]) == door.device
    if same:
        door = replace(door, also=_OWN_TERMINAL)
    threads = procfs.threads(pid)
    kinds = {thread: _thread(pid, thread, door) for thread in threads}
    kind = _of_threads(pid, kinds)
    if same and int(stat[procfs.GROUP]) != front and kind in ("reads", "polls"):
        kind = "watches"  # it slept so before it was put into the background
    return kind, int(stat[procfs.GROUP]), len(threads)


def _of_threads(pid: int, kinds: dict[int, str]) -> str:
    """A program waits when its main thread does and no other is at work; another thread may listen by the way."""
    main = kinds.get(pid, _UNSURE)
    others = [kind for thread, kind in kinds.items() if thread != pid]
    if main in ("reads", "polls"):
        return "watches" if _BUSY in others else main
    if _UNSURE in kinds.values() or pid not in kinds:
        return _UNSURE
    return "watches" if {"reads", "polls", "watches"} & set(kinds.values()) else "no"


def _thread(pid: int, thread: int, door: Door) -> str:
    call = sleeps_in(pid, thread)
    state = procfs.stat(f"{pid}/task/{thread}")[:1]  # after the call: one that is stopped is still shown in it
    if state != [b"S"]:
        return _BUSY if state in ([b"R"], [b"D"]) else "no"  # or it has ended
    if call is None or call[0] == "?":
        return _UNSURE
    return _kind(pid, *call, door) if call[0] else _BUSY


def _kind(pid: int, name: str, arguments: list[int], door: Door) -> str:
    """What it is to sleep in this call."""
    try:
        if not is_native(pid):
            return _UNSURE
        if name in READS:
            return "reads" if is_door(pid, arguments[0], door) else "no"
        return polled(pid, name, arguments, door) if name in POLLS else "no"
    except (OSError, ValueError, OverflowError):
        return _UNSURE


def _members(shared: Pair, leave_out: int) -> list[int]:
    """The session's processes; after a keeper was killed, those that can still be told."""
    if not shared.parent:
        return sorted(kill.members(shared, leave_out=leave_out))
    found, waiting = list[int](), procfs.children(shared.keeper)
    while waiting:
        pid = waiting.pop()
        if pid != leave_out and not tree.is_daemon(pid):
            found.append(pid)
            waiting += procfs.children(pid)
    return sorted(found)


def _exists(pid: int) -> bool:
    """Whether a process is there that we may not look at."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
