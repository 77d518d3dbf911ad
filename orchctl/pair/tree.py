"""The processes below a keeper, found in /proc, and signals to all of them.

The keeper is a subreaper: whoever loses its parent becomes its child, so nothing escapes this walk
by leaving the process group, the session or its parents.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

from orchctl import procfs

ZYGOTE = "orchctl-zygote"
# as it was started, by this version or an older one; what it runs, `exe`, only root can see
_MODULES = (b"\0-m\0orchctl.pair\0", b"\0-m\0orchctl.keeper\0")
_SUPERVISOR = b"\0-m\0orchctl.supervisor\0"
_started: dict[int, int] = {}  # when those that the last walk saw were started


def children(pid: int) -> list[int]:
    """The direct children of `pid`, which must be this process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:  # a kernel without this file
        return [child for child, (parent, _) in _all().items() if parent == pid]


def descendants(root: int, *, leave_out: int) -> list[int]:
    """Every process below `root` but one child of it, parents before their children.

    By the kernel's lists of children, so that it costs what the session has, however many others run. Who loses its
    parent meanwhile is in the root's list when that is read again.
    """
    if not os.path.exists(f"/proc/{root}/task/{root}/children"):  # a kernel without these files
        return _descendants_by_parents(root, leave_out)
    found, seen = list[int](), {leave_out}
    _started.clear()
    while fresh := [pid for pid in procfs.children(root) if pid not in seen]:
        for pid in fresh:
            if pid in seen:
                continue
            seen.add(pid)
            if not is_daemon(pid):
                found += [pid] if _note(pid) else []
                fresh += procfs.children(pid)
    return found


def _descendants_by_parents(root: int, leave_out: int) -> list[int]:
    """The same from the parent of every process there is."""
    below = _below({pid: parent for pid, (parent, _) in _all().items()})
    found = [pid for pid in below.get(root, []) if pid != leave_out and not is_daemon(pid)]
    for pid in found:
        found += [child for child in below.get(pid, []) if not is_daemon(child)]
    return found


def _note(pid: int) -> bool:
    """Remember when a process was started; False if it is a mere entry waiting to be reaped, or gone."""
    words = _stat(pid)
    if not words or words[0] == b"Z":
        return False
    _started[pid] = int(words[procfs.STARTED])
    return True


def lives(pid: int) -> bool:
    """Whether a process is there, and is no mere entry waiting to be reaped."""
    words = _stat(pid)
    return bool(words) and words[0] not in (b"Z", b"X")


def is_stopped(pid: int) -> bool:
    """Whether a process is there and does nothing, because a signal or a debugger has stopped it."""
    return _stat(pid)[:1] in ([b"T"], [b"t"])


def is_late(pid: int) -> bool:
    """Whether a process that was sent SIGKILL only waits for a processor to end on, or is gone."""
    words = _stat(pid)
    return not words or words[0] in (b"R", b"Z", b"X")


def is_daemon(pid: int) -> bool:
    """Whether it is a zygote: one that was started from inside a session is below it, and still nothing of it."""
    return procfs.name(pid) == ZYGOTE and _started_as(pid, *_MODULES)


def of_session(leader: int, belongs: Callable[[int], bool] = lambda pid: False, since_ticks: int = 0) -> list[int]:
    """Every process of the terminal session that `leader` leads or led, and what is below them, in that order.

    Also those started since then that `belongs` claims. No process of ours, which may have been started from inside.
    """
    everybody = _all()
    below = _below({pid: parent for pid, (parent, _) in everybody.items()})
    young = {pid for pid in everybody if _started[pid] >= since_ticks} if since_ticks else set()
    own = {pid for pid, (_, session) in everybody.items() if session == leader or (pid in young and belongs(pid))}
    found = [pid for pid in own if everybody[pid][0] not in own]
    for pid in found:
        found += [child for child in below.get(pid, []) if child not in found and not is_ours(child)]
    return found


def is_ours(pid: int) -> bool:
    """Whether it is a zygote, a keeper, a mover or a supervisor: by how it was started, which forks inherit."""
    return _started_as(pid, *_MODULES, _SUPERVISOR)


def _started_as(pid: int, *modules: bytes) -> bool:
    words = procfs.read(f"{pid}/cmdline")
    return any(module in words for module in modules)


def orphans_of(reaper: int) -> list[int]:
    """The children of a process, in the walk that `send` goes by; not those that wait to be reaped."""
    return [pid for pid in procfs.children(reaper) if _note(pid)]


def send(pids: list[int], *signals: signal.Signals) -> None:
    """Each signal to each process; those that are gone, or not ours to signal, are passed over.

    Never to a stranger that has got the number meanwhile: what was found in the last walk is held, and compared.
    """
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError), _held(pid) as held:
            for number in signals if start_ticks(pid) == _started.get(pid, start_ticks(pid)) else ():
                os.kill(pid, number) if held is None else signal.pidfd_send_signal(held, number)


@contextlib.contextmanager
def _held(pid: int) -> Iterator[int | None]:
    """A descriptor for whoever has that number now; none where the kernel has none to give."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (OSError, AttributeError):
        yield None
        return
    try:
        yield held
    finally:
        os.close(held)


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot; with its number, that names it for ever."""
    words = _stat(pid)
    return int(words[procfs.STARTED]) if words else 0


def _stat(pid: int) -> list[bytes]:
    words = procfs.stat(pid)
    return words if len(words) > procfs.STARTED else []


def _below(parents: dict[int, int]) -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        below.setdefault(parent, []).append(pid)
    return below


def _all() -> dict[int, tuple[int, int]]:
    """Parent and terminal session of every process that is not a mere entry waiting to be reaped."""
    found = {}
    _started.clear()
    for pid in procfs.pids():
        words = _stat(pid)
        if words and words[procfs.STATE] != b"Z":
            found[pid] = int(words[procfs.PARENT]), int(words[procfs.SESSION])
            _started[pid] = int(words[procfs.STARTED])
    return found
