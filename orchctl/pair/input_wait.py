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
import termios
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from orchctl.pair import doors, kill, syscalls, tree
from orchctl.pair.doors import Door
from orchctl.pair.shared import Pair

TRIES = 4  # what changed under our eyes is looked at again
THREADS = 2000  # more are not looked at, lest the keeper has no time for its own work
_TIOCGPTPEER = 0x5441
_OWN_TERMINAL = os.makedev(5, 0)  # /dev/tty
_BUSY, _UNSURE = "busy", "unknown"
_ORDER = ("reads", "polls", "watches", _UNSURE)  # the first that anybody does is what is told
_STATE, _, _GROUP, _, _TERMINAL = range(5)  # of /proc/PID/stat, from the state on


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
    """Which group is in front, and the terminal's local modes."""
    if not shared.terminal:
        return 0, None
    return os.tcgetpgrp(shared.master), int(termios.tcgetattr(shared.master)[3])


def _look(shared: Pair, members: list[int], modes: tuple[int, int | None]) -> _View:
    front, local = modes
    if not syscalls.NAMES:
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
    stat = _stat(f"/proc/{pid}/stat")
    if stat is None:
        return (_UNSURE if _exists(pid) else "no"), 0, 1
    same = door.device != 0 and int(stat[_TERMINAL]) == door.device
    if same:
        door = replace(door, also=_OWN_TERMINAL)
    threads = [int(name) for name in _listed(f"/proc/{pid}/task")]
    kinds = {thread: _thread(pid, thread, door) for thread in threads}
    kind = _of_threads(pid, kinds)
    if same and int(stat[_GROUP]) != front and kind in ("reads", "polls"):
        kind = "watches"  # it slept so before it was put into the background
    return kind, int(stat[_GROUP]), len(threads)


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
    call = syscalls.sleeps_in(pid, thread)
    stat = _stat(f"/proc/{pid}/task/{thread}/stat")  # after the call: one that is stopped is still shown in it
    if stat is None:
        return "no"  # it has ended
    if stat[_STATE] != "S":
        return _BUSY if stat[_STATE] in ("R", "D") else "no"
    if call is None or call[0] == "?":
        return _UNSURE
    return _kind(pid, *call, door) if call[0] else _BUSY


def _kind(pid: int, name: str, arguments: list[int], door: Door) -> str:
    """What it is to sleep in this call."""
    try:
        if not syscalls.is_native(pid):
            return _UNSURE
        if name in syscalls.READS:
            return "reads" if doors.is_door(pid, arguments[0], door) else "no"
        return doors.polled(pid, name, arguments, door) if name in syscalls.POLLS else "no"
    except (OSError, ValueError, OverflowError):
        return _UNSURE


def _members(shared: Pair, leave_out: int) -> list[int]:
    """The session's processes; after a keeper was killed, those that can still be told."""
    if not shared.parent:
        return sorted(kill.members(shared, leave_out=leave_out))
    found, waiting = list[int](), _children(shared.keeper)
    while waiting:
        pid = waiting.pop()
        if pid != leave_out and not tree.is_daemon(pid):
            found.append(pid)
            waiting += _children(pid)
    return sorted(found)


def _children(pid: int) -> list[int]:
    """By the kernel's own list, which also names those that are hidden from us."""
    found = list[int]()
    for thread in _listed(f"/proc/{pid}/task"):
        with (
            contextlib.suppress(OSError),  # it has ended
            open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file,
        ):
            found += [int(word) for word in file.read().split()]
    return found


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _stat(path: str) -> list[str] | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def _exists(pid: int) -> bool:
    """Whether a process is there that we may not look at."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
