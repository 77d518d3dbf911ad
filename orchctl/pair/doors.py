"""The door by which input comes into a session, and whether a call of another process waits at it.

Which descriptors a process polls is in its memory, or beside its epoll descriptor in /proc. Whoever may see in
which call a process sleeps may see these too.
"""

from __future__ import annotations

import os
import select
import struct
from dataclasses import dataclass

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
