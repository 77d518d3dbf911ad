"""The processes below a keeper, found in /proc, and signals to all of them.

The keeper is a subreaper: whoever loses its parent becomes its child, so nothing escapes this walk
by leaving the process group, the session or its parents.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

ZYGOTE = "orchctl-zygote"
_NAME = f"{ZYGOTE}\n".encode()
_MODULE = b"\0-m\0orchctl.keeper\0"  # as it was started; what it runs, `exe`, only root can see
_TICKS = 19  # of /proc/PID/stat, counted from the state on: when it started
_started: dict[int, int] = {}  # when those that the last walk saw were started


def children(pid: int) -> list[int]:
    """The direct children of `pid`, which must be this process."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:  # a kernel without this file
        return [child for child, (parent, _) in _all().items() if parent == pid]


def descendants(root: int, *, leave_out: int) -> list[int]:
    """Every process below `root` but one child of it, parents before their children."""
    below = _below({pid: parent for pid, (parent, _) in _all().items()})
    found = [pid for pid in below.get(root, []) if pid != leave_out and not is_daemon(pid)]
    for pid in found:
        found += [child for child in below.get(pid, []) if not is_daemon(child)]
    return found


def is_daemon(pid: int) -> bool:
    """Whether it is a zygote: one that was started from inside a session is below it, and still nothing of it."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as name, open(f"/proc/{pid}/cmdline", "rb") as words:
            return name.read() == _NAME and _MODULE in words.read()
    except OSError:
        return False


def of_session(leader: int) -> list[int]:
    """Every process of the terminal session that `leader` leads or led, and what is below them, in that order."""
    everybody = _all()
    below = _below({pid: parent for pid, (parent, _) in everybody.items()})
    own = {pid for pid, (_, session) in everybody.items() if session == leader}
    found = [pid for pid in own if everybody[pid][0] not in own]
    for pid in found:
        found += [child for child in below.get(pid, []) if child not in found]
    return found


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
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[_TICKS])
    except (OSError, ValueError, IndexError):
        return 0


def _below(parents: dict[int, int]) -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        below.setdefault(parent, []).append(pid)
    return below


def _all() -> dict[int, tuple[int, int]]:
    """Parent and terminal session of every process that is not a mere entry waiting to be reaped."""
    found = {}
    _started.clear()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with (
                contextlib.suppress(OSError, ValueError, IndexError),
                open(f"/proc/{entry}/stat", "rb") as file,
            ):
                words = file.read().rpartition(b")")[2].split()
                state, parent, _, session = words[:4]
                if state != b"Z":
                    found[int(entry)] = int(parent), int(session)
                    _started[int(entry)] = int(words[_TICKS])
    return found
